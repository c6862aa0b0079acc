/* large_cut - a large object gives its end back where it is, as realloc makes it, while the range behind it is
 * freed.
 *
 * bound     2 threads: 1 cut of an object that begins within its range | 1 free
 * property  the object keeps its words and has room for what was asked; all is free once in the end, and joins
 * defines   -DJW_RANGE_TRIES=2
 */
#include "verify/clients/ranges.h"

static granule_id before, after;
static char *object;

static void *cutting(void *unused) {
    (void)unused;
    bool cut = large_shrink(object, GRANULE_SIZE + 1);
    assert(cut && large_usable_size(object) == 2 * GRANULE_SIZE);
    assert(*(uint64_t *)object == 1 && *(uint64_t *)(object + GRANULE_SIZE) == 2);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    place(after, MAPPED);
    return NULL;
}

int main(void) {
    bool zeroed;
    begin();
    before = fetch(1);
    object = large_allocate(3 * GRANULE_SIZE, 2 * GRANULE_SIZE, &zeroed); /* and a granule before it */
    after = fetch(2);
    assert(granule_of(object) == before + 2 && after == before + 5);
    *(uint64_t *)object = 1;
    *(uint64_t *)(object + GRANULE_SIZE) = 2;
    pthread_t a = start(cutting, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    large_free(object);
    place(before, MAPPED);
    end();
    return 0;
}
