/* malloc.c - the C entry points, except for malloc and free (core/). They check arguments and call the allocator.
 *
 * The allocating functions find sizes above PTRDIFF_MAX and lack of memory: they return NULL with ENOMEM.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/override.h"
#include "api/serve.h"
#include "base/align.h"
#include "base/compiler.h"
#include "jwmalloc.h"
#include "platform/features.h"
#include "platform/platform.h"

static COLD void *fail_with(int error) {
    errno = error;
    return NULL;
}

static bool is_power_of_two(size_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

JW_EXPORT void *jw_calloc(size_t count, size_t size) {
    size_t total;
    if (UNLIKELY(__builtin_mul_overflow(count, size, &total))) return fail_with(ENOMEM);
    return serve_zeroed(total);
}

JW_EXPORT void *jw_realloc(void *object, size_t size) {
    if (UNLIKELY(object == NULL)) return jw_malloc(size);
    if (LIKELY(size > 0)) return serve_resized(object, size);
    jw_free(object);
    return NULL;
}

OVERRIDES(realloc, jw_realloc);

static inline void *resize_array(void *(*resize)(void *object, size_t size), void *object, size_t count, size_t size) {
    size_t total;
    if (UNLIKELY(__builtin_mul_overflow(count, size, &total))) return fail_with(ENOMEM);
    return resize(object, total);
}

JW_EXPORT void *jw_reallocarray(void *object, size_t count, size_t size) {
    return resize_array(jw_realloc, object, count, size);
}

#if JW_OVERRIDE
/* A program's own malloc may lack this function. Then glibc's reallocarray calls the program's realloc, and so does
 * ours. */
static RELOCATED void *(*const volatile reached_realloc)(void *object, size_t size) = realloc;

extern JW_EXPORT __typeof__(jw_reallocarray) reallocarray; /* a C library's own headers may lack it */

JW_EXPORT void *reallocarray(void *object, size_t count, size_t size) {
    return resize_array(reached_realloc, object, count, size);
}
#endif

JW_EXPORT void *jw_aligned_alloc(size_t alignment, size_t size) {
    if (UNLIKELY(!is_power_of_two(alignment))) return fail_with(EINVAL);
    return serve_aligned(alignment, size);
}

JW_EXPORT int jw_posix_memalign(void **object, size_t alignment, size_t size) {
    if (UNLIKELY(!is_power_of_two(alignment) || alignment % sizeof(void *) != 0)) return EINVAL;
    int before = errno;
    void *made = serve_aligned(alignment, size);
    errno = before;
    if (UNLIKELY(made == NULL)) return ENOMEM;
    *object = made;
    return 0;
}

JW_EXPORT void *jw_memalign(size_t alignment, size_t size) {
    if (UNLIKELY(alignment > SIZE_MAX / 2 + 1)) return fail_with(EINVAL);
    size_t power = 1;
    while (power < alignment) power *= 2;
    return serve_aligned(power, size);
}

JW_EXPORT void *jw_valloc(size_t size) {
    return serve_aligned(platform_page_size(), size);
}

JW_EXPORT void *jw_pvalloc(size_t size) {
    size_t page = platform_page_size(), rounded;
    if (UNLIKELY(__builtin_add_overflow(size, page - 1, &rounded))) return fail_with(ENOMEM);
    return serve_aligned(page, align_down(rounded, page));
}

JW_EXPORT void jw_cfree(void *object) {
    jw_free(object);
}

/* The sizes are only checked: free needs the slab's record in any case, which has the class. */
JW_EXPORT void jw_free_sized(void *object, size_t size) {
    serve_free_of_size(object, size);
}

JW_EXPORT void jw_free_aligned_sized(void *object, size_t alignment, size_t size) {
    serve_free_aligned(object, alignment, size);
}

JW_EXPORT size_t jw_malloc_usable_size(const void *object) {
    return object == NULL ? 0 : serve_object_size(object);
}

JW_EXPORT size_t jw_malloc_good_size(size_t size) {
    return serve_good_size(size);
}

OVERRIDES(calloc, jw_calloc);
OVERRIDES(aligned_alloc, jw_aligned_alloc);
OVERRIDES(posix_memalign, jw_posix_memalign);
OVERRIDES(memalign, jw_memalign);
OVERRIDES(valloc, jw_valloc);
OVERRIDES(pvalloc, jw_pvalloc);
OVERRIDES(cfree, jw_cfree);
OVERRIDES(free_sized, jw_free_sized);
OVERRIDES(free_aligned_sized, jw_free_aligned_sized);
OVERRIDES(malloc_usable_size, jw_malloc_usable_size);
OVERRIDES(malloc_good_size, jw_malloc_good_size);
#if JW_OVERRIDE
SECOND_NAME(calloc, jw_calloc);
SECOND_NAME(memalign, jw_memalign);
SECOND_NAME(valloc, jw_valloc);
SECOND_NAME(pvalloc, jw_pvalloc);

/* A function: with a third symbol, gcc would make realloc's first step a jump. */
JW_EXPORT void *second_realloc(void *object, size_t size) __asm__("__libc_realloc") __attribute__((weak));

void *second_realloc(void *object, size_t size) {
    return jw_realloc(object, size);
}
#endif
