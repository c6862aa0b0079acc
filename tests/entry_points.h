/* entry_points.h - the functions under test by one name each, whichever build is under test.
 *
 * By default the program's own malloc is meant: jwmalloc when it is linked or preloaded, the C library's otherwise (the
 * control run). With JW_PREFIXED the same tests run on the jw_ functions, beside the C library's malloc.
 */
#ifndef JW_TESTS_ENTRY_POINTS_H
#define JW_TESTS_ENTRY_POINTS_H

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

#ifdef JW_PREFIXED
#include <jwmalloc.h>
#define malloc jw_malloc
#define free jw_free
#define calloc jw_calloc
#define realloc jw_realloc
#define reallocarray jw_reallocarray
#define aligned_alloc jw_aligned_alloc
#define posix_memalign jw_posix_memalign
#define memalign jw_memalign
#define valloc jw_valloc
#define pvalloc jw_pvalloc
#define cfree jw_cfree
#define free_sized jw_free_sized
#define free_aligned_sized jw_free_aligned_sized
#define malloc_usable_size jw_malloc_usable_size
#define malloc_iterate jw_malloc_iterate
#define malloc_good_size jw_malloc_good_size
#define malloc_trim jw_malloc_trim
#define mallinfo jw_mallinfo
#define mallinfo2 jw_mallinfo2
#define malloc_info jw_malloc_info
#define malloc_stats jw_malloc_stats
#define mallopt jw_mallopt

static inline bool under_jwmalloc(void) {
    return true;
}
#else
#ifdef __cplusplus
extern "C" {
#endif
/* Not every C library has these; a control run skips what is missing. */
__attribute__((weak)) void cfree(void *object);
__attribute__((weak)) void free_sized(void *object, size_t size);
__attribute__((weak)) void free_aligned_sized(void *object, size_t alignment, size_t size);
__attribute__((weak)) size_t malloc_good_size(size_t size);
__attribute__((weak)) void *jw_malloc(size_t size);
#ifdef __cplusplus
}
#endif

static inline bool under_jwmalloc(void) {
    return jw_malloc != NULL;
}
#endif

/* bionic's numbers, which glibc's <malloc.h> does not have. */
#ifndef M_DECAY_TIME
#define M_DECAY_TIME (-100)
#endif
#ifndef M_PURGE
#define M_PURGE (-101)
#endif

#endif
