/* transcript_random_test.c - long scripts from fixed seeds through all tiers, in worlds that differ in their options,
 * in what the platform refuses, and in what other threads do. Of each step the transcript has the sum of all that
 * unit-transcript writes out, of what is told of addresses, and of the state (transcript_state.h). After a change that
 * is meant:
 *
 *     JW_TRANSCRIPT=tests/unit/transcript_random.txt build/.../unit-transcript-random
 *
 * The same for -tight and -hardened. The steps begin where the difference does. With transcript.sums set to false the
 * text has all. */
#include "transcript_program.h"

#include <errno.h>

#include "backend/reserve.h"
#include "core/describe.h"
#include "core/limit.h"
#include "core/realtime.h"
#include "core/seal_roots.h"
#include "frontend/disable.h"
#include "frontend/size_map.h"

enum { STEPS = 45, ACTS = 40, LIVE_MOST = 1500, SUMS_IN_A_LINE = 15, OTHERS_MOST = 40 };

static uint64_t chance;

static unsigned below(unsigned bound) {
    return (unsigned)random_below(&chance, bound);
}

/* Small ones most often, up to twice the largest range seldom. */
static size_t some_size(void) {
    static const unsigned shifts[] = {6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 23};
    unsigned which = below(40);
    size_t most = (size_t)1 << shifts[which < sizeof shifts / sizeof *shifts ? which : which % 6];
    return below(8) == 0 ? most >> 1 : random_below(&chance, most) + 1;
}

static void add_sum(uint64_t value) {
    transcript.places = transcript.places * 31 + value;
}

static void tell(const void *address) {
    struct found found;
    describe(address, &found);
    add_sum((uint64_t)found.tier * 100 + (uint64_t)found.state + found.size + (found.owner > 0));
}

static void take_some(unsigned heap) {
    size_t size = some_size();
    size_t alignment = (size_t)1 << below(below(10) ? 8 : 23);
    heap_enter(heaps[heap]);
    void *object = NULL;
    errno = 0;
    switch (below(8)) {
    case 0: object = serve_aligned(alignment, size); break;
    case 1:
        object = serve_zeroed(size);
        CHECK(!object || bytes_are_zero(object, size));
        break;
    default: object = jw_malloc(size);
    }
    heap_enter(heaps[0]);
    add_sum((uint64_t)errno);
    if (object && live_count < LIVE_MOST) keep(heap, object, size);
    else if (object) jw_free(object);
    if (object) add_sum(serve_object_size(object));
}

static void give_some(void) {
    unsigned i = below(live_count);
    char *object = live[i].start;
    size_t size = live[i].size, usable = serve_object_size(object);
    CHECK(pattern_holds(object, size, size));
    if (below(8) == 0) tell(object + below((unsigned)usable));
    if (below(16) == 0) add_sum(size_if_live(object + below((unsigned)usable)));
    if (below(4) == 0 && usable == serve_good_size(size)) {
        heap_enter(heaps[below(HEAPS)]);
        serve_free_of_size(object, size);
        heap_enter(heaps[0]);
        live[i] = live[--live_count];
    } else {
        unsigned heap = below(3) ? live[i].heap : below(HEAPS);
        give_as(heap, i);
    }
    if (below(16) == 0) tell(object + below((unsigned)usable));
}

static void change_some(void) {
    unsigned i = below(live_count);
    size_t size = below(3) ? live[i].size + live[i].size / (1 + below(4)) : some_size();
    if (below(3) == 0) size = live[i].size / 2 + 1;
    change(i, size);
    add_sum(serve_object_size(live[i].start));
}

static void end_some_thread(void) {
    heap_enter(&no_heap);
    if (heap_attach()) {
        void *objects[30];
        for (unsigned i = 0; i < 30; i++) objects[i] = jw_malloc(some_size() % 20000);
        unsigned kept = below(5);
        for (unsigned i = kept; i < 30; i++) jw_free(objects[i]);
        sim_thread_exit();
        heap_enter(heaps[below(HEAPS)]);
        for (unsigned i = 0; i < kept; i++) jw_free(objects[i]);
    }
    heap_enter(heaps[0]);
}

static void find_range(void) {
    uintptr_t from = transcript.base + ((uintptr_t)below(16) << 20);
    size_t size = (size_t)1 << (10 + below(12));
    found.objects = found.bytes = 0;
    CHECK(iterate_objects(from, size, find, NULL) != GUARDED);
    add_sum(found.objects * 31 + found.bytes);
}

static void maintain(void) {
    /* drawn one after the other: compilers evaluate arguments in different orders */
    unsigned kind = below(9), limit = below(2000);
    enum purge_level level = (enum purge_level)below(PURGE_LEVELS);
    switch (kind) {
    case 0:
        thrift_wake();
        run_thread();
        break;
    case 1: add_sum(purge_for(level, NO_LIMIT)); break;
    case 2: add_sum(purge_for(level, limit)); break;
    case 3: sim_advance(below(1500)); break;
    case 4:
        heap_enter(heaps[below(HEAPS)]);
        serve_drain();
        heap_enter(heaps[0]);
        break;
    case 5: end_some_thread(); break;
    case 6: find_range(); break;
    case 7: heap_collect(heaps[below(HEAPS)], COLLECT_ALL); break;
    default: run_thread();
    }
}

static void act(void) {
    unsigned kind = below(100);
    if (kind < 2) maintain();
    else if (kind < 12 && live_count > 0) change_some();
    else if (kind < 45 + 20 * (live_count > LIVE_MOST / 2) && live_count > 0) give_some();
    else take_some(below(HEAPS));
}

/* Many objects of one size, then most of them away: in order, backwards, or every so many. */
static void burst(void) {
    size_t size = some_size();
    unsigned count = size > 100000 ? 5 : size > 5000 ? 40 : 250, heap = below(HEAPS), first = live_count;
    for (unsigned i = 0; i < count && live_count < LIVE_MOST; i++) take(heap, size);
    unsigned freed = live_count - first, by = below(2) ? heap : below(HEAPS), part = 1 + below(3);
    give_many(by, freed, part);
}

/* --- Other threads ---------------------------------------------------------------------------------------------- */

static struct {
    bool here, walks, turn;
    void *objects[OTHERS_MOST];
    unsigned count, nest;
    uint64_t locked;
} other; /* what a thread has that runs within calls of the platform, or that has stopped in the midst of its own */

/* One more thread allocates, frees or purges while the first one is in a call of the platform. */
static void act_within(void) {
    struct heap *now = thread_heap(), *heap = heaps[below(HEAPS)];
    if (other.here || heap == now || below(3) > 0) return;
    other.here = true;
    heap_enter(heap);
    if (below(30) == 0) purge_for(PURGE_OWN, NO_LIMIT);
    else if (other.count > 0 && below(2)) jw_free(other.objects[--other.count]);
    else if (other.count < OTHERS_MOST && (other.objects[other.count] = jw_malloc(some_size()))) other.count++;
    heap_enter(now);
    other.here = false;
}

static void beside_others(unsigned step) {
    transcript.within = step % 3 ? act_within : NULL;
}

/* A thread has stopped in the midst of a Nest's list, of a walk over all roots, or of a turn. */
static void beside_stopped(unsigned step) {
    other.nest = below(ORDINARY_NESTS + 1);
    if (step % 4) other.locked = nest_lock_all(other.nest < ORDINARY_NESTS ? &ownership.nests[other.nest] : &mid_nest);
    other.walks = step % 3 == 0 && root_walk_begin();
    other.turn = step % 5 == 0 && reclaimer_begin_turn();
}

/* At the end of a step the others have no object, hold nothing, and all suspects are settled. */
static void settle(void) {
    transcript.within = NULL;
    while (other.count > 0) jw_free(other.objects[--other.count]);
    nest_unlock_all(other.nest < ORDINARY_NESTS ? &ownership.nests[other.nest] : &mid_nest, other.locked);
    if (other.walks) root_walk_end();
    if (other.turn) reclaimer_end_turn();
    other.locked = other.walks = other.turn = false;
    for (unsigned i = 0; i < HEAPS; i++) {
        heap_enter(heaps[i]);
        if (heap_has_suspects(heaps[i])) heap_take_all_incoming(heaps[i]);
    }
    heap_enter(heaps[0]);
}

static void run_in_each_wait(void) {
    transcript.waits_left = 1;
    run_thread();
}

static void run_world(const char *name, uint64_t seed, void (*each_step)(unsigned step)) {
    say("%s%s:", seed > 1 ? "" : "\n", name);
    chance = seed;
    for (unsigned step = 0; step < STEPS; step++) {
        if (step % SUMS_IN_A_LINE == 0) say("\n  %llu.%02u", (unsigned long long)seed, step);
        transcript.sum = 0;
        begin_step("");
        if (each_step) each_step(step);
        for (unsigned i = 0; i < ACTS; i++) act();
        if (below(4) == 0) burst();
        settle();
        end();
    }
    say("\n");
}

static void refusing(unsigned step) {
    static const unsigned operations[] = {SIM_RESERVE, SIM_UNMAP,  SIM_DISCARD, SIM_RESIZE,
                                          SIM_MOVE,    SIM_THREAD, SIM_PROTECT, SIM_CONFINE};
    sim_fail_only(operations[step % (sizeof operations / sizeof *operations)]);
    sim_fail_after(step + 2 < STEPS && below(3) ? (int64_t)below(4) : SIM_NEVER);
}

static void limited(unsigned step) {
    options.limit_hard = step % 3 == 2 ? 0 : limits_committed() + below(1 << 20);
    options.limit_soft = step % 4 == 3 ? 0 : limits_committed() - below(1 << 19);
}

static void pressed(unsigned step) {
    options.pressure = 1;
    sim_group = (struct group_memory){64 << 20, below(64 << 20), step % 5 == 4 ? 20 : 0};
    limits_look();
    sim_advance(below(400));
}

static void with_contents(unsigned step) {
    if (step % 10 > 0) return;
#if JW_SECURE
    options.guard_rate = step / 10;
    options.quarantine = (step / 10 * 7 % 5) << 14;
#else
    options.init = step / 10 % 3;
#endif
    for (unsigned i = 0; i < HEAPS; i++) size_map_write(heaps[i]);
}

static void watched(unsigned step) {
    options.reclaim_interval = 100 + 100 * (step % 7);
    options.cache_percent = 10 * (step % 9);
    options.cache_min = step % 4 << 20;
    options.pool_min = step % 6;
    options.pool_percent = step % 30;
    options.pool_total = step % 5 << 18;
    options.reclaim_start = step % 3 << 17;
}

static void with_huge_pages(unsigned step) {
    options.huge_pages = step > 2;
    options.spare_callers = step % 8 == 7;
}

/* Threads of the program come and go, ours is paused, and the process forks. Our thread runs whenever one waits. */
static void with_threads(unsigned step) {
    transcript.after_waits = run_in_each_wait;
    transcript.waits = 0;
    transcript.waits_left = 1;
    options.reclaim_thread = step % 5 ? THREAD_AUTO : THREAD_TRUE;
    for (unsigned i = below(4); i-- > 0;) {
        unsigned kind = below(8);
        if (kind < 3) reclaimer_before_thread_create();
        if (kind < 3) reclaimer_after_thread_create(kind > 0);
        else if (kind == 3) reclaimer_thread_seen();
        else if (kind == 4) reclaimer_thread_ends();
        else if (kind == 5) reclaimer_pause();
        else if (kind == 6) reclaimer_resume();
        else sim_fork(false);
        sim_advance(below(600));
    }
}

#if !JW_SECURE
/* Objects that begin as a free one of their heap's are freed, by that heap or by another one. */
static void with_suspects(unsigned step) {
    for (unsigned left = step % 9 == 8 ? 80 : below(8); left > 0 && live_count > 0; left--) {
        unsigned i = below(live_count);
        heap_enter(heaps[live[i].heap]);
        void *free_one = jw_malloc(live[i].size);
        heap_enter(heaps[0]);
        free_as(live[i].heap, free_one);
        CHECK(pattern_holds(live[i].start, live[i].size, live[i].size));
        if (free_one && live[i].size >= 16 && live[i].size <= 12000) memcpy(live[i].start, free_one, 16);
        free_as(below(3) ? below(HEAPS) : live[i].heap, live[i].start);
        live[i] = live[--live_count];
    }
}

static void with_a_reserve(unsigned step) {
    if (step % 4 == 0) CHECK(realtime_reserve(step % 3 ? below(6 << 20) : 0) != ENOTSUP);
}
#endif

static void disabled(unsigned step) {
    if (step % 3 > 0) return;
    heap_enter(heaps[below(HEAPS)]);
    disable_others();
    transcript.after_waits = disable_end;
    transcript.waits_left = 1 + below(2);
    for (unsigned i = 0; i < 5; i++) take_some(below(HEAPS));
    disable_end();
    transcript.waits_left = 0;
    heap_enter(heaps[0]);
}

static const struct world {
    const char *name;
    void (*each_step)(unsigned step);
    unsigned thread;
} worlds[] = {{"As it is", NULL, THREAD_TRUE},
              {"Without our thread", NULL, THREAD_FALSE},
              {"Refusals", refusing, THREAD_TRUE},
              {"Limits", limited, THREAD_TRUE},
              {"Pressure", pressed, THREAD_TRUE},
              {"Chosen contents", with_contents, THREAD_FALSE},
              {"Other options", watched, THREAD_TRUE},
              {"Huge pages, spared callers", with_huge_pages, THREAD_TRUE},
              {"Limits without our thread", limited, THREAD_FALSE},
              {"Refusals without our thread", refusing, THREAD_FALSE},
              {"Others within calls", beside_others, THREAD_TRUE},
              {"Others that have stopped", beside_stopped, THREAD_FALSE},
              {"Threads that come and go", with_threads, THREAD_AUTO},
#if !JW_SECURE
              {"Suspects", with_suspects, THREAD_TRUE},
              {"A reserve", with_a_reserve, THREAD_TRUE},
#endif
              {"Disabled", disabled, THREAD_TRUE}};

static void end_of_world(void) {
    struct options before = options;
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    options = default_options;
    options.reclaim_thread = before.reclaim_thread;
    sim_group = (struct group_memory){SIZE_MAX, SIZE_MAX, 0};
    transcript.waits_left = 0;
    reserve_mark(false);
    atomic_store(&pressure_limit, 0);
    for (unsigned i = 0; i < HEAPS; i++) size_map_write(heaps[i]);
    end_script();
}

static void sums_are_as_they_were(void **state) {
    (void)state;
    if (sizeof(void *) < 8) check_skip("the counts are those of 64 bits");
    for (unsigned i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        start();
        options.reclaim_thread = worlds[i].thread;
        transcript.sums = true;
        for (uint64_t seed = 1; seed <= 2; seed++) run_world(worlds[i].name, seed, worlds[i].each_step);
        end_of_world();
        say("\n");
        transcript.sums = false;
    }
    compare_with(JW_TRANSCRIPT_FILE);
}

int main(int count, char **arguments) {
    (void)count;
    fix_addresses(arguments);
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_as_they_were)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
