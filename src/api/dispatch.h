/* dispatch.h - glue: fills in a C library's table of its allocator's functions (dispatch.def) with ours. For the file
 * of that C library which has the table; no file of ours includes it.
 *
 *     #include <private/bionic_malloc_dispatch.h>             #include "musl_malloc_dispatch.h"
 *     #define DISPATCH_ANDROID 1                              #define DISPATCH_OPENHARMONY 4
 *     #include "api/dispatch.h"                               #include "api/dispatch.h"
 *
 *     static const struct MallocDispatch table = {            static const struct MallocDispatchType table = {
 *         DISPATCH_ENTRIES                                        DISPATCH_ENTRIES .mmap = ..., .prctl = ...
 *     };                                                      };
 *
 * No entry is cast, so the compiler compares each type with ours, and a check of calls' types at run time passes. Where
 * types differ by their names only, a function stands between. What dispatch.def lacks is the C library's. The table of
 * OpenHarmony has `memalign`, or in newer versions `aligned_alloc`: DISPATCH_OPENHARMONY is 4 or 5. No C library was
 * built so; api.dispatch_* fill in tables of the same types.
 *
 * Threads, signals, progress: as each function, see jwmalloc.h. */
#ifndef JW_DISPATCH_H
#define JW_DISPATCH_H

#include <jwmalloc.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The file that includes this one uses a part of the functions. */
#define DISPATCH_FUNCTION static inline __attribute__((unused))

/* Both are bionic's and musl's ten numbers of type size_t, in one order. */
#define DISPATCH_MALLINFO(type, name)                                                                                  \
    DISPATCH_FUNCTION type name(void) {                                                                                \
        struct jw_mallinfo2 ours = jw_mallinfo2();                                                                     \
        type theirs;                                                                                                   \
        _Static_assert(sizeof theirs == sizeof ours, "the same numbers");                                              \
        memcpy(&theirs, &ours, sizeof theirs);                                                                         \
        return theirs;                                                                                                 \
    }

#define DISPATCH_BOTH                                                                                                  \
    .calloc = jw_calloc, .free = jw_free, .mallinfo = dispatch_mallinfo, .malloc = jw_malloc, .realloc = jw_realloc,   \
    .malloc_disable = jw_malloc_disable, .malloc_enable = jw_malloc_enable, .mallopt = jw_mallopt,                     \
    .malloc_info = jw_malloc_info

DISPATCH_MALLINFO(struct mallinfo, dispatch_mallinfo)

#if defined DISPATCH_ANDROID

#ifdef HAVE_DEPRECATED_MALLOC_FUNCS
#define DISPATCH_DEPRECATED .pvalloc = jw_pvalloc, .valloc = jw_valloc,
#else
#define DISPATCH_DEPRECATED
#endif
#define DISPATCH_ENTRIES                                                                                               \
    DISPATCH_BOTH, .malloc_usable_size = jw_malloc_usable_size, .memalign = jw_memalign,                               \
                   .posix_memalign = jw_posix_memalign, DISPATCH_DEPRECATED.malloc_iterate = jw_malloc_iterate,        \
                   .aligned_alloc = jw_aligned_alloc,

#elif defined DISPATCH_OPENHARMONY

DISPATCH_MALLINFO(struct mallinfo2, dispatch_mallinfo2)

DISPATCH_FUNCTION size_t dispatch_usable_size(void *object) {
    return jw_malloc_usable_size(object);
}

struct dispatch_call {
    void (*callback)(void *object, size_t size, void *argument);
    void *argument;
};

DISPATCH_FUNCTION void dispatch_tell(uintptr_t object, size_t size, void *call) {
    const struct dispatch_call *their = call;
    their->callback((void *)object, size, their->argument); // NOLINT(performance-no-int-to-ptr)
}

DISPATCH_FUNCTION int dispatch_iterate(void *base, size_t size, void (*callback)(void *object, size_t size, void *arg),
                                       void *argument) {
    struct dispatch_call call = {callback, argument};
    return jw_malloc_iterate((uintptr_t)base, size, dispatch_tell, &call);
}

DISPATCH_FUNCTION void dispatch_find(uintptr_t object, size_t size, void *found) {
    (void)object, (void)size;
    *(int *)found = 1;
}

/* OpenHarmony's malloc_check_from_ptr, which is in no table: 1 if an object in use begins there, else 0. -1: the
 * hardened build does not tell (ENOSYS), or the call may be made again (EAGAIN). */
DISPATCH_FUNCTION int dispatch_check_from_ptr(void *object) {
    int found = 0;
    if (jw_malloc_iterate((uintptr_t)object, 1, dispatch_find, &found) == 0) return found;
    if (errno == ENOTSUP) errno = ENOSYS;
    return -1;
}

#if DISPATCH_OPENHARMONY < 5
#define DISPATCH_ALIGNED .memalign = jw_memalign
#else
#define DISPATCH_ALIGNED .aligned_alloc = jw_aligned_alloc
#endif
#define DISPATCH_ENTRIES                                                                                               \
    DISPATCH_BOTH, .valloc = jw_valloc, DISPATCH_ALIGNED, .malloc_usable_size = dispatch_usable_size,                  \
                   .mallinfo2 = dispatch_mallinfo2, .malloc_iterate = dispatch_iterate,                                \
                   .malloc_stats_print = jw_malloc_stats_print,

#else
#error "dispatch.h: define DISPATCH_ANDROID, or DISPATCH_OPENHARMONY as 4 or 5"
#endif

#endif
