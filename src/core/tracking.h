/* tracking.h - tells the host of objects (core/host_controls.h), where the build can and jw_track_objects asks for it.
 *
 * The hardened build leaves its usual way for it, which has no instruction more. The plain core can with
 * -DJW_TRACKED=1: its entry points ask each time (core/tracked.h). */
#ifndef JW_TRACKING_H
#define JW_TRACKING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mitigations.h"
#include "platform/features.h"
#include "platform/host.h"

/* The entry points of core/tracked.h take the place of the plain ones; those of core/tagged.h, which ask as well, where
 * objects have memory tags. */
#define TRACKED_ENTRIES (JW_TRACKED && !SECOND_WAY)

/* malloc and free are those of core/allocate.c and core/free.c. */
#define PLAIN_ENTRIES (!SECOND_WAY && !TRACKED_ENTRIES && !TAGGED_ENTRIES)

#if TRACKED_ENTRIES || SECOND_WAY

/* Weak: the host, or the program, may have none. */
extern void jw_allocated(void *object, size_t size) __attribute__((weak));
extern void jw_freed(void *address) __attribute__((weak));

extern _Atomic(bool) tracking HIDDEN; /* relaxed: on only where both functions are there */

static ALWAYS_INLINE bool is_tracking(void) {
    return UNLIKELY(atomic_load_explicit(&tracking, memory_order_relaxed));
}

/* Returns the object. */
static ALWAYS_INLINE void *track_allocated(void *object, size_t size) {
    if (is_tracking() && object) jw_allocated(object, size);
    return object;
}

static ALWAYS_INLINE void track_freed(void *object) {
    if (is_tracking() && object) jw_freed(object);
}

/* What realloc has made of an object of `old` bytes, of which track_freed has told. Returns it; NULL: it has failed. */
static ALWAYS_INLINE void *track_resized(void *object, size_t old, void *resized, size_t size) {
    track_allocated(resized ? resized : object, resized ? size : old);
    return resized;
}

#else

static ALWAYS_INLINE bool is_tracking(void) {
    return false;
}
static ALWAYS_INLINE void *track_allocated(void *object, size_t size) {
    (void)size;
    return object;
}
static ALWAYS_INLINE void track_freed(const void *object) {
    (void)object;
}
static ALWAYS_INLINE void *track_resized(void *object, size_t old, void *resized, size_t size) {
    (void)object, (void)old, (void)size;
    return resized;
}

#endif

#endif
