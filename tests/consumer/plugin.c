/* plugin.c - a plugin with an allocator of its own in it: every size, freed again, so that there is something to give
 * back and a thread that does it. */
#include <jwmalloc.h>
#include <string.h>

int work(void);
__attribute__((visibility("default"))) int work(void) {
    enum { COUNT = 400 };
    void *objects[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = ((size_t)16 << i % 12) + i;
        objects[i] = jw_malloc(size);
        if (objects[i] == NULL) return 1;
        memset(objects[i], (int)i, size);
    }
    for (size_t i = 0; i < COUNT; i++) jw_free(objects[i]);
    return 0;
}
