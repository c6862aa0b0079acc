/* directory_tables - two threads allocate the first huge objects at once, and each makes the directory's tables; a
 * third asks for an address.
 *
 * bound     3 threads: 2 allocations, 1 look-up
 * property  both objects are in the directory, with their sizes; an address that is none is not
 * defines   -DJW_NEST_SLOTS=1 -DMODEL_ROOTS=8 -DJW_WINDOW_SHIFT=14
 */
#include "backend/huge.h"
#include "verify/clients/ranges.h"

static uint64_t *objects[2];

static void *allocating(void *place) {
    uint64_t **object = place;
    *object = huge_allocate(object == objects ? ROOT_SIZE : 2 * ROOT_SIZE, 1, NULL);
    return NULL;
}

static void *asking(void *address) {
    assert(huge_usable_size((char *)address + GRANULE_SIZE) == 0);
    return NULL;
}

int main(void) {
    begin();
    static char foreign[4 * GRANULE_SIZE];
    pthread_t a = start(allocating, &objects[0]), b = start(allocating, &objects[1]), c = start(asking, foreign);
    finish(a);
    finish(b);
    finish(c);
    assert(objects[0] && huge_usable_size(objects[0]) == ROOT_SIZE);
    assert(objects[1] && huge_usable_size(objects[1]) == 2 * ROOT_SIZE);
    size_t size = 0;
    assert(huge_around((char *)objects[1] + ROOT_SIZE, false, &size) == (char *)objects[1] && size == 2 * ROOT_SIZE);
    huge_free(objects[0]);
    huge_free(objects[1]);
    assert(model_reserved_roots() == 0);
    return 0;
}
