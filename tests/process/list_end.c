/* list_end.c - a list of objects that another thread has freed ends with an address before the slab. malloc must not
 * read there: before the first granule of the first root there is no memory. So the objects here fill whole roots.
 */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { SIZE = 64, OBJECTS = (16 << 20) / SIZE };

static void *objects[OBJECTS];

/* Half of each slab, so that the slabs stay the owner's. */
static void *free_half(void *argument) {
    for (size_t i = 0; i < OBJECTS; i += 2) free(objects[i]);
    return argument;
}

int main(void) {
    for (size_t i = 0; i < OBJECTS; i++) CHECK((objects[i] = malloc(SIZE)) != NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, free_half, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (size_t i = 0; i < OBJECTS; i += 2) CHECK((objects[i] = malloc(SIZE)) != NULL);
    for (size_t i = 0; i < OBJECTS; i++) free(objects[i]);
    return 0;
}
