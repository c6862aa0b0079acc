/* backend_test.c - the backend under real threads on the real platform: no ranges overlap, all goes back at last. */
#include "unit.h"

#include <pthread.h>

#include "backend/backend.h"
#include "backend/large_object.h"
#include "backend/reclaimer.h"
#include "platform/features.h"

enum { THREADS = 4, SHARED = 48, ROUNDS = 4, STEPS = 8000, CROWDED_STEPS = 150000, MOST_GRANULES = 96 };

/* A range or a large object that belongs to the thread that exchanges it out of its slot. Its size is at its start. */
struct block {
    uint32_t granules;
    bool large;
    char *end;
};

static _Atomic(uintptr_t) shared[SHARED];
static _Atomic(size_t) zeroed_ranges, grown_objects;
static bool crowded; /* few and small ranges, side by side: every thread is after the same */

static void mark(struct block *block) {
    size_t words = (size_t)(block->end - (char *)block) / sizeof(uintptr_t);
    uintptr_t *all = (uintptr_t *)block;
    for (size_t i = 64; i < words; i += 64) all[i] = (uintptr_t)block + i; /* eight to a page */
}

static void check_and_free(struct block *block) {
    size_t words = (size_t)(block->end - (char *)block) / sizeof(uintptr_t);
    uintptr_t *all = (uintptr_t *)block;
    for (size_t i = 64; i < words; i += 64) CHECK(all[i] == (uintptr_t)block + i);
    if (block->large) {
        CHECK(large_usable_size(block) == (size_t)(block->end - (char *)block));
        large_free(block);
    } else {
        CHECK(knit_weight(granule_of(block)) == block->granules);
        backend_place(granule_of(block));
    }
}

/* A large object gives its end away, as realloc does. */
static void shrink(struct block *block, uint64_t *randomness) {
    size_t size = large_usable_size(block), wanted = size - random_below(randomness, size - size / 4);
    CHECK(large_shrink(block, wanted) && large_usable_size(block) >= wanted);
    CHECK(large_usable_size(block) <= size);
    block->end = (char *)block + large_usable_size(block);
}

/* A large object takes what is free behind it, or stays as it is. */
static void grow(struct block *block, uint64_t *randomness) {
    size_t size = large_usable_size(block), wanted = size + 1 + random_below(randomness, size);
    bool grown = large_grow(block, wanted);
    CHECK(large_usable_size(block) == size || (grown && large_usable_size(block) >= wanted));
    if (!grown) return;
    atomic_fetch_add(&grown_objects, 1);
    block->end = (char *)block + large_usable_size(block);
    mark(block);
}

static struct block *fetch(uint64_t *randomness) {
    bool zeroed = false, large = !crowded && random_below(randomness, 4) == 0;
    uint32_t most = random_below(randomness, 32) == 0  ? ROOT_GRANULES
                    : random_below(randomness, 4) == 0 ? MOST_GRANULES
                                                       : 8;
    if (crowded) most = 3;
    uint32_t granules = 1 + (uint32_t)random_below(randomness, most < ROOT_GRANULES / 2 ? most : ROOT_GRANULES / 2);
    size_t alignment = large ? GRANULE_SIZE << random_below(randomness, 5) : 1;
    struct block *block = large ? large_allocate(granules * GRANULE_SIZE, alignment, &zeroed)
                                : backend_fetch(FOR_SMALL_SLABS, granules, &zeroed);
    CHECK(block && (uintptr_t)block % alignment == 0 && (uintptr_t)block % GRANULE_SIZE == 0);
    if (!large) granules = knit_weight(granule_of(block));
    size_t size = large ? large_usable_size(block) : granules * GRANULE_SIZE;
    CHECK(size >= granules * GRANULE_SIZE);
    if (zeroed) {
        CHECK(bytes_are_zero(block, size < 65536 ? size : 65536));
        zeroed_ranges++;
    }
    *block = (struct block){.granules = granules, .large = large, .end = (char *)block + size};
    mark(block);
    if (large && random_below(randomness, 2)) shrink(block, randomness);
    if (large && random_below(randomness, 2)) grow(block, randomness);
    return block;
}

static void *churn(void *argument) {
    uint64_t randomness = (uintptr_t)argument;
    for (unsigned step = 0; step < (crowded ? CROWDED_STEPS : STEPS); step++) {
        _Atomic(uintptr_t) *slot = &shared[random_below(&randomness, crowded ? 8 : SHARED)];
        uintptr_t new = random_below(&randomness, 2) ? (uintptr_t)fetch(&randomness) : 0;
        uintptr_t old = atomic_exchange(slot, new);
        if (old) check_and_free((struct block *)old);
    }
    return NULL;
}

static void run_threads(uintptr_t seed) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)(seed * THREADS + i)) == 0);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < SHARED; i++) {
        uintptr_t old = atomic_exchange(&shared[i], 0);
        if (old) check_and_free((struct block *)old);
    }
}

/* The reclamation thread has ended then, so it holds nothing. */
static void finish(void) {
    reclaimer_pause();
    thrift_purge();
    assert_int_equal(root_count(), 0);
    assert_int_equal(ownership.deferred.first, 0);
    assert_int_equal(ownership.cached[0], 0);
    assert_int_equal(ownership.cached[1], 0);
    reclaimer_resume();
}

static void threads_share_the_backend(void **state) {
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        options.reclaim_thread = round != 1;
        options.reclaim_interval = 10;
        options.cache_min = round == 2 ? 0 : 8 << 20;
        options.cache_percent = round == 2 ? 10 : 25;
        crowded = round == 3;
        run_threads(round);
        finish();
    }
    assert_true(grown_objects > 0);
    printf("%zu rollbacks, %zu deferrals, %zu rounds, %zu by freeing threads, %zu zeroed\n",
           (size_t)ownership.rollbacks, (size_t)ownership.deferrals, (size_t)thrift_counters.rounds,
           (size_t)thrift_counters.sync_reclaims, (size_t)zeroed_ranges);
}

static void what_is_cut_off_is_free(void **state) {
    (void)state;
    bool zeroed;
    reclaimer_pause(); /* a round would give back what waits */
    char *object = large_allocate(ROOT_SIZE, 1, &zeroed);
    intptr_t before = ownership.cached[0];
    assert_true(large_shrink(object, ROOT_SIZE / 2 + 2 * GRANULE_SIZE));
    assert_int_equal(large_usable_size(object), ROOT_SIZE / 8 * 5);
    assert_int_equal(ownership.cached[0] - before, ROOT_GRANULES / 8 * 3);
    assert_true(large_shrink(object, ROOT_SIZE / 8 * 5 - 1)); /* not a granule less */
    assert_int_equal(large_usable_size(object), ROOT_SIZE / 8 * 5);
    assert_false(large_shrink(object + GRANULE_SIZE, 1));
    large_free(object);

    object = large_allocate(ROOT_SIZE / 4, 16 * GRANULE_SIZE, &zeroed); /* may begin within its range */
    assert_true(large_shrink(object, GRANULE_SIZE + 1));
    assert_true(large_usable_size(object) >= 2 * GRANULE_SIZE);
    large_free(object);
    finish();
    reclaimer_resume();
}

static void an_object_grows_in_place(void **state) {
    (void)state;
    bool zeroed;
    reclaimer_pause();
    char *object = large_allocate(BACKEND_MIN, 1, &zeroed);
    memset(object, 1, BACKEND_MIN);
    assert_true(large_grow(object, ROOT_SIZE / 2 + 1));
    assert_true(large_usable_size(object) >= ROOT_SIZE / 2 + 1 && large_usable_size(object) < ROOT_SIZE);
    assert_true(object[0] == 1 && object[BACKEND_MIN - 1] == 1);
    char *behind = large_allocate(ROOT_SIZE / 8, 1, &zeroed);
    size_t size = large_usable_size(object);
    if (behind == object + size) assert_false(large_grow(object, size + 1));
    assert_int_equal(large_usable_size(object), size);
    assert_false(large_grow(object, BACKEND_MAX + 1));
    assert_false(large_grow(object + GRANULE_SIZE, ROOT_SIZE));
    large_free(behind);
    large_free(object);
    finish();
    reclaimer_resume();
}

static void free_twice(void) {
    bool zeroed;
    void *object = large_allocate(BACKEND_MIN, 1, &zeroed);
    large_free(object);
    large_free(object);
}

static void free_inside(void) {
    bool zeroed;
    large_free((char *)large_allocate(4 * GRANULE_SIZE, 1, &zeroed) + GRANULE_SIZE);
}

static void misuse_is_told(void **state) {
    (void)state;
    expect_abort(free_twice, "jwmalloc: invalid free: address 0x");
    expect_abort(free_inside, "jwmalloc: invalid free: address 0x");
}

uint64_t __real_platform_random(void);
uint64_t __wrap_platform_random(void);
static unsigned chosen; /* 0: none */

uint64_t __wrap_platform_random(void) {
    return chosen > 0 ? chosen - 1 : __real_platform_random();
}

/* The tables that grow begin in the same way wherever their second halves lie: a part may be within a page of another.
 * Not where the kernel gives no region, as beside a sanitizer's memory a second one. */
static void each_place_is_a_start(void **state) {
    (void)state;
    if (!page_map.base || PLAIN_THREAD) return;
    for (chosen = 1; chosen <= JW_WINDOW_SHIFT - JW_FIRST_WINDOW_SHIFT + 1; chosen++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            page_map.base = NULL;
            _exit(!(page_map_start() && page_map.base));
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    chosen = 0;
}

int main(void) {
    thrift_start();
    if (!page_map_start()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_is_a_start),   cmocka_unit_test(threads_share_the_backend),
        cmocka_unit_test(what_is_cut_off_is_free), cmocka_unit_test(an_object_grows_in_place),
        cmocka_unit_test(misuse_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
