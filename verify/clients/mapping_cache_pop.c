/* mapping_cache_pop - mappings of two sizes go through one entry, while a thread looks for one of them.
 *
 * bound     2 threads: 1 pop, or 2; 1 pop and 1 push. One mapping may wait
 * property  a thread gets a mapping that suits, with the size that it has; no mapping is in two hands,
 *           and none is taken before it is counted
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1
 */
#include "backend/mapping_cache.h"
#include "verify/clients/ranges.h"

enum { SMALL = 4 * GRANULE_SIZE, LARGE_ONE = 12 * GRANULE_SIZE, EITHER = 7 * GRANULE_SIZE };

static uint64_t memory[2];
static bool looked_up, exchanged;

/* Word by word: GenMC reads no copy of a struct. */
static void write_size_and_place(struct cached_mapping *mapping, unsigned number) {
    mapping->start = (char *)&memory[number];
    mapping->size = number == 0 ? SMALL : LARGE_ONE;
}

/* The size of a mapping follows from its address. */
static void check(const struct cached_mapping *mapping) {
    bool first = mapping->start == (char *)&memory[0];
    assert(first || mapping->start == (char *)&memory[1]);
    assert(mapping->size == (first ? SMALL : LARGE_ONE));
    *(uint64_t *)mapping->start += 1;
}

static void *looking(void *unused) {
    (void)unused;
    struct cached_mapping taken;
    looked_up = mapping_cache_pop(SMALL, 8, &taken);
    if (looked_up) {
        check(&taken);
        assert(taken.start == (char *)&memory[0]);
    } else if (mapping_cache_pop(LARGE_ONE, 8, &taken)) check(&taken);
    /* whoever takes a mapping finds it counted */
    assert((intptr_t)mapping_cache_bytes() >= 0);
    return NULL;
}

static void *exchanging(void *unused) {
    (void)unused;
    struct cached_mapping taken, old, put;
    write_size_and_place(&put, 1);
    memory[1] = 7;
    exchanged = mapping_cache_pop(EITHER, 8, &taken);
    if (exchanged) check(&taken);
    if (mapping_cache_push(&put, &old) && old.start) check(&old);
    return NULL;
}

int main(void) {
    struct cached_mapping first, second, old, left;
    write_size_and_place(&first, 0);
    write_size_and_place(&second, 1);
    bool put = mapping_cache_push(&first, &old);
    assert(put && !old.start);
    pthread_t a = start(looking, NULL), b = start(exchanging, NULL);
    finish(a);
    finish(b);
    assert(!(looked_up && exchanged));
    while (mapping_cache_pop(EITHER, 8, &left)) check(&left);
    assert(memory[0] == 1);
    put = mapping_cache_push(&first, &old) && !old.start;
    assert(put);
    put = mapping_cache_push(&second, &old); /* the first makes room, and is ours again */
    assert(put && old.start == first.start && old.size == SMALL);
    put = mapping_cache_pop(EITHER, 8, &left);
    assert(put && left.start == second.start && mapping_cache_bytes() == 0 && free_granules(MAPPED) == 0);
    return 0;
}
