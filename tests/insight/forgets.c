/* forgets.c - an allocator whose realloc forgets what large objects contained: a replay must notice. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_realloc(void *object, size_t size);

void *realloc(void *object, size_t size) {
    char *moved = __libc_realloc(object, size);
    if (moved != NULL && size > 1000000) memset(moved, 0, size);
    return moved;
}
