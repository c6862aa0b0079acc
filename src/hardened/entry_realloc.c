/* entry_realloc.c - the hardened build's realloc: keeps the slot, resizes a huge object, or copies. */
#include <errno.h>
#include <string.h>

#include "backend/huge.h"
#include "backend/large_object.h"
#include "config/options.h"
#include "core/limit.h"
#include "core/route.h"
#include "core/tracking.h"
#include "hardened/entry.h"
#include "hardened/guard.h"
#include "hardened/large.h"
#include "hardened/open.h"
#include "hardened/zero_size.h"
#include "platform/platform.h"

/* Resizes within the slot; the tag stays. */
static void *resize_in_slot(const struct opened *opened, size_t size) {
    close_object(opened);
    size_t old = size_of_opened(opened), kept = size < old ? size : old;
    if (option(&options.zero_on_free)) memset(opened->object + kept, 0, size + old - 2 * kept);
    return seal(opened->object, opened->slot, opened->trailer, marks_of(opened), size, false);
}

/* Clears what is behind the bytes that a resized huge object keeps, as far as it is memory of its old slot: old
 * contents, fills of several sizes, and the old trailer. */
static void clear_old_end(char *object, const struct opened *old, size_t size, size_t slot) {
    size_t before = size_of_opened(old), kept = size < before ? size : before;
    size_t end = slot < old->slot ? slot : old->slot;
    if (size > before || option(&options.zero_on_free)) memset(object + kept, 0, end - kept);
}

/* The guard of an object that has changed its slot: the old one is gone. */
static uint32_t guard_again(char *object, size_t slot, uint32_t marks) {
    if (marks & MARK_GUARDED) guard_end();
    return large_guard(object, slot) ? MARK_GUARDED : 0;
}

/* reallocate would leave an object in place that shrinks by less than half, but here the slack has a bound. */
static void *resize_slot(const struct opened *opened, size_t slot) {
    if (slot >= opened->slot) return reallocate(opened->object, slot);
    return huge_resize(opened->object, opened->slot, slot);
}

static void *reallocate_huge(const struct opened *opened, size_t size) {
    close_object(opened);
    size_t slot = slot_for(size);
    int error = errno;
    char *moved = (char *)resize_slot(opened, slot);
    if (!moved && room_may_help(slot, 1) && limit_call(size)) {
        hardened_drain();
        moved = (char *)resize_slot(opened, slot);
        if (moved) errno = error;
    }
    if (!moved) {
        seal(opened->object, opened->slot, opened->trailer, marks_of(opened), size_of_opened(opened), false);
        return NULL;
    }
    uint32_t marks = marks_of(opened);
    slot = object_size(moved);
    clear_old_end(moved, opened, size, slot);
    if (moved != opened->object || slot != opened->slot) marks = guard_again(moved, slot, marks);
    return seal(moved, slot, trailer_for(moved, slot, 0), marks, size, false);
}

/* Whether the object keeps its slot: the new slot fits into it, uses more than half of it or is very small, and needs
 * no fewer granules. */
static bool keeps_slot(size_t old, size_t slot) {
    if (!may_keep_in_place(old, slot) || old - slot >= SLACK_MOST) return false;
    return old < BACKEND_MIN || good_size(1, slot) >= old;
}

/* Resizes by a function that tells the host of nothing. */
static ALWAYS_INLINE void *resize_tracked(void *(*resize)(const struct opened *, size_t), void *object,
                                          const struct opened *opened, size_t size) {
    size_t old = size_of_opened(opened);
    track_freed(object);
    return track_resized(object, old, resize(opened, size), size);
}

/* Copies to a new object and frees the old one. A size that fits where the old one is needs no callback. */
static void *reallocate_anew(void *object, size_t old, size_t size, bool fits) {
    bool calls_back = fits && limit_hold(true);
    void *moved = jw_malloc(size);
    if (fits) limit_hold(calls_back);
    if (!moved) return NULL;
    memcpy(moved, object, size < old ? size : old);
    jw_free(object);
    return moved;
}

static COLD void *reallocate_unknown(void *object, size_t size) {
    if (!zero_size_owns(object)) return reallocate(with_tag(object, 0), size);
    zero_size_check(object);
    return reallocate_anew(object, 0, size, false);
}

void *hardened_reallocate(void *object, size_t size) {
    struct opened opened;
    if (UNLIKELY(!open_object(object, &opened, INVALID_POINTER))) return reallocate_unknown(object, size);
    size_t slot = slot_for(size);
    if (size > 0 && keeps_slot(opened.slot, slot)) return resize_tracked(resize_in_slot, object, &opened, size);
    bool huge = opened.tier == WITH_PAGES && !page_map_owns(opened.object);
    if (huge && slot > BACKEND_MAX) return resize_tracked(reallocate_huge, object, &opened, size);
    int error = errno;
    bool fits = slot <= opened.slot;
    void *moved = reallocate_anew(object, size_of_opened(&opened), size, fits);
    if (moved || !fits) return moved;
    errno = error; /* there is no memory for a copy: the slot serves */
    return resize_tracked(huge ? reallocate_huge : resize_in_slot, object, &opened, size);
}
