/* large_grow - a large object takes the range behind it, as realloc makes it, while another thread frees that range and
 * takes it again.
 *
 * bound     2 threads: 2 growths, the first in vain, of an object that begins within its range | 1 free, 1 fetch
 * property  the object keeps its words and has room for what was asked, or nothing has changed; no granule has two
 *           users; all is free once in the end, and joins
 * defines   -DJW_RANGE_TRIES=2
 */
#include "verify/clients/ranges.h"

static granule_id before, after, last, fetched;
static char *object;
static bool grown;

static void *growing(void *unused) {
    (void)unused;
    bool too_much = large_grow(object, 6 * GRANULE_SIZE); /* the last range is in use */
    assert(!too_much && large_usable_size(object) == GRANULE_SIZE);
    grown = large_grow(object, 3 * GRANULE_SIZE);
    size_t size = large_usable_size(object);
    assert(grown ? size >= 3 * GRANULE_SIZE : size == GRANULE_SIZE);
    assert(*(uint64_t *)object == 1);
    if (grown) *(uint64_t *)(object + 2 * GRANULE_SIZE) = 2;
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    place(after, MAPPED);
    granule_id range = range_acquire(FOR_SMALL_SLABS, MAPPED, 1);
    if (range) fetched = own(range);
    return NULL;
}

int main(void) {
    bool zeroed;
    begin();
    before = fetch(1);
    object = large_allocate(GRANULE_SIZE, 2 * GRANULE_SIZE, &zeroed);
    granule_id range = granule_start(granule_of(object));
    *(uint64_t *)object = 1;
    after = fetch(2);
    last = fetch(1);
    pthread_t a = start(growing, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(*(uint64_t *)object == 1 && (!grown || *(uint64_t *)(object + 2 * GRANULE_SIZE) == 2));
    assert(leaf_same(leaf_get(range), leaf_large(granule_of(object) - range)));
    large_free(object);
    if (fetched) place(fetched, MAPPED);
    place(before, MAPPED);
    place(last, MAPPED);
    end();
    return 0;
}
