/* waiting_take - mappings of two sizes go through one entry, while a thread looks for one of them.
 *
 * bound     2 threads: 1 take; 1 take and 1 put. One mapping may wait
 * property  a thread gets a mapping that fits, with the size and the memory that it has; no mapping is in two hands
 * defines   -DJW_WAITING_MAPPINGS=1 -DJW_NEST_SLOTS=1
 */
#include "backend/waiting.h"
#include "verify/clients/ranges.h"

enum { SMALL = 4 * GRANULE_SIZE, LARGE_ONE = 8 * GRANULE_SIZE };

static uint64_t memory[2];
static bool looked_up, exchanged;

/* Word by word: GenMC reads no copy of a struct. */
static void write_size_and_place(struct waiting *mapping, unsigned number) {
    mapping->start = (char *)&memory[number];
    mapping->size = number == 0 ? SMALL : LARGE_ONE;
    mapping->kept = GRANULE_SIZE * (number + 1);
}

/* The size of a mapping follows from its address. */
static void check(const struct waiting *mapping) {
    bool first = mapping->start == (char *)&memory[0];
    assert(first || mapping->start == (char *)&memory[1]);
    assert(mapping->size == (first ? SMALL : LARGE_ONE) && mapping->kept == GRANULE_SIZE * (first ? 1 : 2));
    *(uint64_t *)mapping->start += 1;
}

static void *looking(void *unused) {
    (void)unused;
    struct waiting taken;
    looked_up = waiting_take(SMALL, SMALL + GRANULE_SIZE, 8, &taken);
    if (looked_up) assert(taken.start == (char *)&memory[0]);
    if (looked_up) check(&taken);
    return NULL;
}

static void *exchanging(void *unused) {
    (void)unused;
    struct waiting taken, old, put;
    write_size_and_place(&put, 1);
    memory[1] = 7;
    exchanged = waiting_take(SMALL, LARGE_ONE, 8, &taken);
    if (exchanged) check(&taken);
    if (waiting_place(&put, &old) && old.start) check(&old);
    return NULL;
}

int main(void) {
    struct waiting first, second, old, left;
    write_size_and_place(&first, 0);
    write_size_and_place(&second, 1);
    bool put = waiting_place(&first, &old);
    assert(put && !old.start);
    pthread_t a = start(looking, NULL), b = start(exchanging, NULL);
    finish(a);
    finish(b);
    assert(!(looked_up && exchanged));
    while (waiting_take(SMALL, LARGE_ONE, 8, &left)) check(&left);
    assert(memory[0] == 1);
    put = waiting_place(&first, &old) && !old.start;
    assert(put);
    put = waiting_place(&second, &old); /* the first makes room, and is ours again */
    assert(put && old.start == first.start && old.size == SMALL);
    put = waiting_take(SMALL, LARGE_ONE, 8, &left);
    assert(put && left.start == second.start && waiting_kept() == 0 && range_cached(MAPPED) == 0);
    return 0;
}
