/* built_on.c - a program whose own malloc is built on jw_malloc: a tool's malloc is then not there to be called. */
#include <jwmalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *malloc(size_t size) {
    return jw_malloc(size);
}
void free(void *object) {
    jw_free(object);
}
void *calloc(size_t count, size_t size) {
    return jw_calloc(count, size);
}
void *realloc(void *object, size_t size) {
    return jw_realloc(object, size);
}
int posix_memalign(void **object, size_t alignment, size_t size) {
    return jw_posix_memalign(object, alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return jw_aligned_alloc(alignment, size);
}
size_t malloc_usable_size(void *object);
size_t malloc_usable_size(void *object) {
    return jw_malloc_usable_size(object);
}

int main(void) {
    for (size_t size = 1; size < 10 << 20; size = size * 2 + 1) {
        char *object = malloc(size), *ours = jw_malloc(size);
        if (object == NULL || ours == NULL) return 1;
        memset(object, 1, size);
        memset(ours, 1, size);
        object = realloc(object, 3 * size);
        if (object == NULL || object[size - 1] != 1) return 1;
        jw_free(object);
        free(ours);
    }
    puts("correct");
    return 0;
}
