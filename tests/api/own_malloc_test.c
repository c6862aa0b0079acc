/* own_malloc_test.c - a program with a malloc of its own, of the four functions that glibc's manual demands. Our
 * reallocarray must call its realloc, as glibc's does. */
#include <stdlib.h>

#include "check.h"

static _Alignas(16) char pool[1 << 20];
static size_t used;

void *malloc(size_t size) {
    size_t *head = (size_t *)(pool + used);
    used += (size + 31) & ~(size_t)15;
    CHECK(used <= sizeof pool);
    *head = size;
    return head + 16 / sizeof *head;
}

void free(void *object) {
    (void)object;
}

void *calloc(size_t count, size_t size) {
    return malloc(count * size); /* no place of the pool is given out twice */
}

void *realloc(void *object, size_t size) {
    void *made = malloc(size);
    if (object == NULL) return made;
    size_t before = ((size_t *)object)[-(16 / (long)sizeof(size_t))];
    return memcpy(made, object, before < size ? before : size);
}

int main(void) {
    char *text = malloc(10);
    strcpy(text, "hello");
    for (size_t count = 2; count < 100; count++) {
        text = reallocarray(text, count, 10);
        CHECK(text > pool && text < pool + sizeof pool);
        CHECK(strcmp(text, "hello") == 0);
    }
    free(text);
    CHECK(reallocarray(NULL, SIZE_MAX / 2, 3) == NULL);
    return 0;
}
