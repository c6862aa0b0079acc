/* transcript_hardened_test.c - scripts through the hardened build: its entry points, trailers, quarantine, guards,
 * regions and large objects. What each step asks of the platform, each count that it changes, and what is told of
 * misuse must be as the transcript says (transcript.h). After a change that is meant:
 *
 *     JW_TRANSCRIPT=tests/unit/transcript_hardened.txt build/.../unit-transcript-hardened
 */
#include "transcript_wrongs.h"

#include <errno.h>
#include <pthread.h>

#include "core/limit.h"
#include "hardened/secret.h"
#include "hardened/zero_size.h"

static const size_t some_sizes[] = {1, 24, 100, 500, 2040, 2041, 5000, 14000, 20000, 45000, 300000, 5 << 20};
enum { SOME_SIZES = sizeof some_sizes / sizeof *some_sizes };

/* One slab in `guard_rate` has a guard; 0: none. */
static void begin_hardened(const char *name, size_t quarantine, unsigned guard_rate) {
    begin_script(name);
    options.quarantine = quarantine;
    options.guard_rate = guard_rate;
}

/* Frees and allocates, so that what waits in a quarantine leaves it. */
static void churn(unsigned heap, unsigned count, size_t size) {
    for (unsigned i = 0; i < count; i++) {
        CHECK(take(heap, size));
        give_many(heap, 1, 1);
    }
}

/* --- Entry points ------------------------------------------------------------------------------------------------ */

static void sizes(void) {
    begin_hardened("Sizes", 64 << 10, 0);
    for (unsigned i = 0; i < SOME_SIZES; i++) {
        STEP("one", take(1, some_sizes[i]));
        char *object = live[0].start;
        say("%zu of %zu, zeroed %d, size if live %zu\n", serve_object_size(object), some_sizes[i],
            bytes_are_zero(object + some_sizes[i], 0), size_if_live(object));
        STEP("one byte more", change(0, some_sizes[i] + 1));
        STEP("half", change(0, some_sizes[i] / 2 + 1));
        STEP("twice", change(0, some_sizes[i] * 2));
        STEP("little", change(0, 1));
        STEP("free by another", give_many(2, 1, 1));
    }
    end_script();
}

static void *aligned_of(unsigned heap, size_t alignment, size_t size) {
    heap_enter(heaps[heap]);
    char *object = serve_aligned(alignment, size);
    CHECK(!object || (uintptr_t)object % alignment == 0);
    heap_enter(heaps[0]);
    if (object) keep(heap, object, size);
    return object;
}

static void alignments(void) {
    begin_hardened("Alignments", 64 << 10, 0);
    for (size_t alignment = 8; alignment <= 8 << 20; alignment *= 8) {
        STEP("some", for (unsigned i = 0; i < SOME_SIZES; i++) CHECK(aligned_of(1, alignment, some_sizes[i])));
        for (unsigned i = 0; i < live_count; i++) say(" %zu", serve_object_size(live[i].start));
        say("\n");
        STEP("they grow", for (unsigned i = 0; i < live_count; i++) change(i, live[i].size + live[i].size / 2 + 1));
        STEP("all free", give_all());
    }
    errno = 0;
    STEP("too much", CHECK(!aligned_of(1, 4096, IMPOSSIBLE_SIZE) && errno == ENOMEM));
    end_script();
}

/* An aligned object has a larger slot than it needs: where it grows, it does not become shorter in place. */
static void aligned_grows(void) {
    static const size_t grown[] = {20, 4000, 20000, 60000, 200000};
    begin_hardened("A short aligned object grows", 64 << 10, 1);
    for (unsigned i = 0; i < sizeof grown / sizeof *grown; i++) {
        STEP("one", CHECK(aligned_of(1, 64 << 10, 10)));
        sim_fail_only(SIM_PROTECT);
        if (i % 2) sim_fail_after(0);
        STEP("grows", change(0, grown[i]); CHECK(serve_object_size(live[0].start) == grown[i]));
        sim_fail_after(SIM_NEVER);
        sim_fail_only(SIM_ANY);
        STEP("free", give_all());
    }
    end_script();
}

static void zeroed_objects(void) {
    begin_hardened("Cleared objects", 16 << 10, 0);
    for (unsigned turn = 0; turn < 3; turn++) {
        begin_step("some");
        for (unsigned i = 0; i < SOME_SIZES; i++) {
            heap_enter(heaps[1]);
            char *object = serve_zeroed(some_sizes[i]);
            CHECK(object && bytes_are_zero(object, some_sizes[i]));
            keep(1, object, some_sizes[i]);
            object = jw_malloc(some_sizes[i]);
            CHECK(object && bytes_are_zero(object, some_sizes[i]));
            keep(1, object, some_sizes[i]);
            heap_enter(heaps[0]);
        }
        end();
        STEP("free", give_all());
        STEP("many others", churn(1, 40, 100); churn(1, 40, 3000); churn(1, 10, 30000));
    }
    errno = 0;
    STEP("too much", CHECK(!serve_zeroed(SIZE_MAX - 8) && errno == ENOMEM));
    end_script();
}

static void sizes_of_zero(void) {
    char *nothing[40];
    begin_hardened("Size 0", 64 << 10, 0);
    begin_step("forty");
    for (unsigned i = 0; i < 40; i++) nothing[i] = jw_malloc(0);
    for (unsigned i = 1; i < 40; i++) say(" %ld", (long)(nothing[i] - nothing[0]) / 16);
    end();
    for (unsigned i = 0; i < 40; i++) {
        CHECK(zero_size_owns(nothing[i]) && serve_object_size(nothing[i]) == 0);
        if (i % 4 == 0) jw_free(nothing[i]);
        else if (i % 4 == 1) serve_free_of_size(nothing[i], 0);
        else if (i % 4 == 2) keep(0, serve_resized(nothing[i], 100), 100);
        else serve_free_aligned(nothing[i], 1, 0);
    }
    STEP("again", for (unsigned i = 0; i < 40; i++) nothing[i] = serve_zeroed(0));
    for (unsigned i = 1; i < 40; i++) say(" %ld", (long)(nothing[i] - nothing[0]) / 16);
    for (unsigned i = 0; i < 40; i++) jw_free(nothing[i]);
    say("\n");
    STEP("an aligned one", keep(0, serve_aligned(64, 0), 0); give_all());
    end_script();
}

/* --- Quarantine -------------------------------------------------------------------------------------------------- */

static void quarantines(void) {
    static const size_t limits[] = {0, 100, 4096, 64 << 10, 200 << 10};
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        begin_hardened("Quarantine", limits[i], 0);
        say("%zu bytes\n\n", limits[i]);
        STEP("100 of 40, free", take_many(1, 100, 40); give_many(1, 100, 1));
        STEP("100 of 40 again", take_many(1, 100, 40));
        STEP("free by another", give_many(2, 100, 1));
        STEP("what is larger", take_many(1, 20, 700); take_many(1, 20, 3000); give_many(1, 40, 1));
        STEP("30 of 1200, each third free by another", take_many(1, 30, 1200); give_many(2, 30, 3));
        STEP("the rest, one after the other", give_many(1, 20, 1));
        STEP("300 times 24", churn(1, 300, 24));
        STEP("90 times 500", churn(1, 90, 500));
        STEP("60 times 600", churn(1, 60, 600));
        STEP("20 times 9000", churn(1, 20, 9000));
        STEP("it is drained", heap_enter(heaps[1]); serve_drain(); heap_enter(heaps[0]));
        STEP("a round", thrift_wake(); run_thread());
        options.quarantine = 32 << 10;
        STEP("another limit", churn(1, 30, 100); churn(1, 10, 20000));
        end_script();
    }
}

static void uncleared(void) {
    begin_hardened("Objects that are not cleared", 32 << 10, 2);
    options.zero_on_free = 0;
    secrets.usual = false;
    for (unsigned turn = 0; turn < 2; turn++) {
        STEP("some", for (unsigned i = 0; i < SOME_SIZES; i++) take(1, some_sizes[i]));
        STEP("half free by another", give_many(2, SOME_SIZES, 2));
        STEP("they change", for (unsigned i = 0; i < live_count; i++) change(i, live[i].size * 3 / 2 + 1));
        STEP("all free", give_all());
        STEP("and again", churn(1, 300, 40); churn(1, 100, 600); churn(1, 10, 5000); churn(1, 20, 30000));
        begin_step("calloc");
        for (unsigned i = 0; i < SOME_SIZES; i++) {
            heap_enter(heaps[1]);
            char *object = serve_zeroed(some_sizes[i]);
            CHECK(object && bytes_are_zero(object, some_sizes[i]));
            keep(1, object, some_sizes[i]);
            heap_enter(heaps[0]);
        }
        end();
    }
    end_script();
    options.zero_on_free = 1;
    secrets.usual = true;
}

/* --- Guards, regions, large objects ------------------------------------------------------------------------------ */

static void guards(void) {
    for (unsigned rate = 0; rate < 4; rate++) {
        begin_hardened("Guards", 8 << 10, rate);
        say("one slab in %u\n\n", rate);
        STEP("some of each size", for (unsigned i = 0; i < SOME_SIZES; i++) take_many(1, 12, some_sizes[i]));
        STEP("half free", give_many(1, live_count, 2));
        STEP("again", for (unsigned i = 0; i < SOME_SIZES; i++) take_many(2, 5, some_sizes[i]));
        STEP("all free", give_all());
        STEP("a round", thrift_wake(); run_thread());
        STEP("a purge", purge_for(PURGE_THREADS, NO_LIMIT));
        end_script();
    }
}

static void refused_guards(void) {
    static const unsigned after[] = {0, 1, 5, 30};
    for (unsigned i = 0; i < sizeof after / sizeof *after; i++) {
        begin_hardened("Guards are refused", 8 << 10, 1);
        sim_fail_only(SIM_PROTECT);
        STEP("some of each size", for (unsigned j = 0; j < SOME_SIZES; j++) take_many(1, 9, some_sizes[j]));
        sim_fail_after(after[i]);
        STEP("free, refused", give_many(1, live_count, 2));
        STEP("grow and shrink",
             for (unsigned j = 0; j < live_count; j++) change(j, live[j].size * (1 + j % 3) / 2 + 1));
        STEP("again, refused", for (unsigned j = 0; j < SOME_SIZES; j++) take_many(2, 4, some_sizes[j]));
        STEP("a round, refused", thrift_wake(); run_thread());
        STEP("drained, refused", heap_enter(heaps[1]); serve_drain(); heap_enter(heaps[0]));
        sim_fail_after(i);
        STEP("a round, some refused", thrift_wake(); run_thread());
        sim_fail_after(SIM_NEVER);
        STEP("a round", thrift_wake(); run_thread());
        STEP("all free", give_all());
        sim_fail_only(SIM_ANY);
        end_script();
    }
}

/* The reserve of mappings is made by the 65th guard, and goes with the first refusal after it. */
static void reserve_of_mappings(void) {
    begin_hardened("Many guards", 8 << 10, 1);
    STEP("150 large ones", take_many(1, 150, 20000));
    sim_fail_only(SIM_PROTECT);
    sim_fail_after(0);
    STEP("refused", take_many(1, 10, 20000));
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    STEP("half as many may be", take_many(1, 10, 20000));
    STEP("free", give_many(1, 120, 1));
    STEP("again", take_many(1, 30, 20000));
    end_script();
}

static void large_ones(void) {
    begin_hardened("Large objects wait", 200 << 10, 1);
    STEP("20 of 16 KB, free", take_many(1, 20, 16000); give_many(1, 20, 1));
    STEP("again", take_many(1, 20, 16000));
    STEP("by another", give_many(2, 20, 1));
    STEP("20 of 60 KB, free", take_many(1, 20, 60000); give_many(1, 20, 1));
    STEP("30 of 1 MB, free", take_many(1, 30, 1 << 20); give_many(1, 30, 1));
    STEP("huge ones, free", take_many(1, 4, 6 << 20); give_many(1, 4, 1));
    STEP("90 times 50 KB", churn(1, 90, 50000));
    STEP("huge ones again", churn(1, 6, 5 << 20));
    options.guard_rate = 0;
    STEP("without guards", take_many(1, 12, 30000); give_many(1, 12, 1); churn(1, 5, 100000));
    STEP("rounds", thrift_wake(); run_thread(); thrift_wake(); run_thread());
    sim_fail_only(SIM_UNMAP | SIM_DISCARD);
    sim_fail_after(0);
    STEP("free, refused", take_many(1, 3, 5 << 20); take_many(1, 3, 40000); give_many(1, 6, 1));
    STEP("drained, refused", heap_enter(heaps[1]); serve_drain(); heap_enter(heaps[0]));
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    STEP("drained", heap_enter(heaps[1]); serve_drain(); heap_enter(heaps[0]));
    end_script();
}

static void large_change(void) {
    begin_hardened("Large objects change", 64 << 10, 1);
    STEP("some", for (size_t size = 15000; size < 9 << 20; size *= 2) take(1, size));
    for (unsigned turn = 0; turn < 8; turn++) {
        STEP("grow", for (unsigned i = 0; i < live_count; i++) change(i, live[i].size + live[i].size / (2 + turn)));
        for (unsigned i = 0; i < live_count; i++) say(" %zu:%zu", live[i].size, size_if_live(live[i].start));
        say("\n");
        STEP("shrink a little", for (unsigned i = 0; i < live_count; i++) change(i, live[i].size - 3000 * turn % 9001));
        STEP("every second is free, others grow", give_many(1, live_count, 2);
             for (unsigned i = 0; i < live_count; i++) change(i, live[i].size + 4096 * turn));
        STEP("new ones", for (size_t size = 15000; size < 3 << 20; size *= 2) take(2, size));
    }
    end_script();
}

static void regions(void) {
    static const unsigned threads[] = {THREAD_TRUE, THREAD_FALSE};
    for (unsigned i = 0; i < 2; i++) {
        begin_hardened("Regions", 1 << 10, 3);
        options.reclaim_thread = threads[i];
        options.cache_min = i << 17;
        STEP("many of 100", take_many(1, 3000, 100));
        STEP("free", give_many(1, 3000, 1));
        STEP("a round", thrift_wake(); run_thread());
        STEP("of 100 again", take_many(2, 1500, 100));
        STEP("of 1000", take_many(1, 600, 1000); give_many(1, 600, 1));
        STEP("of 7000", take_many(1, 200, 7000); give_many(1, 200, 1));
        STEP("two rounds", thrift_wake(); run_thread(); thrift_wake(); run_thread());
        options.limit_hard = limits_committed() + (64 << 10);
        STEP("little memory", for (unsigned j = 0; j < 400 && take(2, 1000); j++));
        STEP("and large ones", for (unsigned j = 0; j < 5; j++) take(2, 30000));
        options.limit_hard = 0;
        sim_fail_only(SIM_DISCARD);
        sim_fail_after(2);
        STEP("a round, refused", give_many(2, 900, 1); thrift_wake(); run_thread());
        sim_fail_after(SIM_NEVER);
        sim_fail_only(SIM_RESERVE);
        sim_fail_after(0);
        STEP("no memory", for (unsigned j = 0; j < 900 && take(2, 2000); j++));
        STEP("nor for large ones", for (unsigned j = 0; j < 90 && take(2, 200000); j++));
        STEP("nor for aligned ones", for (unsigned j = 0; j < 9 && aligned_of(2, 4096, 300000); j++));
        sim_fail_after(SIM_NEVER);
        sim_fail_only(SIM_ANY);
        end_script();
    }
}

static int calls_back;

static int at_limit(size_t size) {
    note_call("callback", size, true);
    for (unsigned i = 0; i < 30 && live_count > 0; i++) give_as(live[live_count - 1].heap, live_count - 1);
    return calls_back-- > 0;
}

static void limits(void) {
    begin_hardened("Limits", 64 << 10, 4);
    STEP("some of each size", for (unsigned i = 0; i < SOME_SIZES; i++) take_many(1, 12, some_sizes[i]));
    limit_register(at_limit);
    options.limit_hard = limits_committed() + (256 << 10);
    for (unsigned i = 0; i < SOME_SIZES; i++) {
        calls_back = 1;
        STEP("many", for (unsigned j = 0; j < 300 && take(1, some_sizes[i]); j++));
    }
    calls_back = 2;
    STEP("a huge one", take(1, 9 << 20));
    STEP("it grows", change(live_count - 1, 20 << 20));
    limit_register(NULL);
    errno = 0;
    STEP("none", CHECK(!take(1, 9 << 20) && errno == ENOMEM));
    options.limit_hard = 0;
    STEP("impossible", CHECK(!take(1, IMPOSSIBLE_SIZE) && !take(1, SIZE_MAX)); change(0, IMPOSSIBLE_SIZE));
    end_script();
}

/* --- Processes and threads --------------------------------------------------------------------------------------- */

static void *ends(void *unused) {
    begin_hardened("Threads end", 64 << 10, 2);
    for (unsigned turn = 0; turn < 2; turn++) {
        begin_step("one");
        heap_enter(&no_heap);
        CHECK(heap_attach());
        for (unsigned i = 0; i < 60; i++) keep(0, jw_malloc(some_sizes[i % SOME_SIZES]), some_sizes[i % SOME_SIZES]);
        for (unsigned i = 0; i < 30; i++) jw_free(live[--live_count].start);
        sim_thread_exit();
        jw_free(jw_malloc(100)); /* late, without a heap */
        heap_enter(heaps[0]);
        end();
        STEP("its objects are free", give_all());
        STEP("a round", thrift_wake(); run_thread());
    }
    end_script();
    reclaimer_forget();
    heap_enter(&no_heap);
    return unused;
}

static void on_a_thread(void *(*body)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void forks(void) {
    begin_hardened("Forks", 16 << 10, 2);
    STEP("some", for (unsigned i = 0; i < 100; i++) take(0, some_sizes[i % SOME_SIZES]));
    STEP("half free", give_many(0, 100, 2));
    STEP("a parent", sim_fork(false));
    STEP("a child", sim_fork(true));
    STEP("its first object", keep(0, jw_malloc(100), 100));
    STEP("its next ones", for (unsigned i = 0; i < 40; i++) keep(0, jw_malloc(100), 100));
    heaps[0] = thread.heap;
    STEP("its first free", give_many(0, 1, 1));
    STEP("the rest of the parent's", give_many(0, 50, 1));
    STEP("its own", for (unsigned i = 0; i < 40; i++) take(0, some_sizes[i % SOME_SIZES]));
    STEP("free", give_all());
    STEP("many", churn(0, 200, 100); churn(0, 40, 20000));
    STEP("rounds", thrift_wake(); run_thread(); thrift_wake(); run_thread());
    STEP("drained", serve_drain());
}

static void misuse_of_the_hardened(void) {
    static const size_t sizes[] = {8, 21, 40, 100, 500, 1000, 2040, 3000, 14000, 20000, 300000, 5 << 20};
    begin_hardened("Misuse", 4 << 10, 0);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) wrongs_of(sizes[i]);
    wrongs_of_zero();
    end_script();
}

static void transcripts_are_as_they_were(void **state) {
    (void)state;
    if (sizeof(void *) < 8) check_skip("the counts are those of 64 bits");
    misuse_of_the_hardened(); /* first: later a fork would copy more tables of pages */
    sizes();
    alignments();
    aligned_grows();
    zeroed_objects();
    sizes_of_zero();
    quarantines();
    uncleared();
    guards();
    refused_guards();
    reserve_of_mappings();
    large_ones();
    large_change();
    regions();
    limits();
    on_a_thread(ends);
    told_of_addresses();
    forks();
    compare_with(JW_TRANSCRIPT_FILE);
}

int main(int count, char **arguments) {
    (void)count;
    fix_addresses(arguments);
    const struct CMUnitTest tests[] = {cmocka_unit_test(transcripts_are_as_they_were)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
