/* libc_names.c - glibc's second names of its entry points. A program that allocates by one of them frees by free(), so
 * they must be ours, too. Weak: a static program may also have the C library's definitions. */
#include <stddef.h>

#include "api/override.h"

#if JW_OVERRIDE

#include "jwmalloc.h"

#define SECOND(name) __asm__("__libc_" name) __attribute__((weak))

JW_EXPORT void *second_malloc(size_t size) SECOND("malloc");
JW_EXPORT void *second_calloc(size_t count, size_t size) SECOND("calloc");
JW_EXPORT void *second_realloc(void *object, size_t size) SECOND("realloc");
JW_EXPORT void second_free(void *object) SECOND("free");
JW_EXPORT void *second_memalign(size_t alignment, size_t size) SECOND("memalign");
JW_EXPORT void *second_valloc(size_t size) SECOND("valloc");
JW_EXPORT void *second_pvalloc(size_t size) SECOND("pvalloc");

void *second_malloc(size_t size) {
    return jw_malloc(size);
}
void *second_calloc(size_t count, size_t size) {
    return jw_calloc(count, size);
}
void *second_realloc(void *object, size_t size) {
    return jw_realloc(object, size);
}
void second_free(void *object) {
    jw_free(object);
}
void *second_memalign(size_t alignment, size_t size) {
    return jw_memalign(alignment, size);
}
void *second_valloc(size_t size) {
    return jw_valloc(size);
}
void *second_pvalloc(size_t size) {
    return jw_pvalloc(size);
}

#endif
