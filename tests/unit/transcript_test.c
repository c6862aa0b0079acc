/* transcript_test.c - scripts through all tiers: what each step asks of the platform, and each count that it changes,
 * must be as the transcripts say (transcript.h). After a change that is meant:
 *
 *     JW_TRANSCRIPT=tests/unit/transcript.txt build/.../unit-transcript
 */
#include "transcript_pauses.h"
#include "transcript_told.h"

#include <errno.h>
#include <pthread.h>

#include "core/limit.h"
#include "core/purge.h"
#include "frontend/disable.h"
#include "frontend/heap_fork.h"
#include "frontend/size_map.h"

/* --- Scripts ---------------------------------------------------------------------------------------------------- */

static void small_objects(void) {
    begin_script("Small objects");
    STEP("one of each class", for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) take(0, size_classes[i].size));
    STEP("and in a heap with coarse classes",
         for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) take(1, size_classes[i].size - 1));
    STEP("all free", give_all());
    STEP("200 of 48", take_many(1, 200, 48));
    STEP("600 of 40: finer classes open", take_many(1, 600, 40));
    STEP("40 of 1100", take_many(1, 40, 1100));
    STEP("every third free", give_many(HEAPS, 800, 3));
    STEP("300 of 40 again", take_many(1, 300, 40));
    STEP("40 of 700, and half free", take_many(0, 40, 700); give_many(HEAPS, 40, 2));
    STEP(
        "40 times one of 700 and back", for (unsigned i = 0; i < 40; i++) {
            take(0, 700);
            give_many(0, 1, 1);
        });
    STEP("20 of 700 free, in a row", give_many(HEAPS, 20, 1));
    STEP(
        "600 times one of 24 and back", for (unsigned i = 0; i < 600; i++) {
            take(0, 24);
            give_many(0, 1, 1);
        });
    STEP("2000 of 200", take_many(2, 2000, 200));
    STEP("all of them free", give_many(HEAPS, 2000, 1));
    STEP("a round", run_thread());
    STEP("a purge", purge_for(PURGE_THREADS, NO_LIMIT));
    end_script();
}

static void objects_of_others(void) {
    begin_script("Small objects that others free");
    STEP("300 of 224", take_many(1, 300, 224));
    STEP("each fifth free by another", give_many(2, 300, 5));
    STEP("10 more", take_many(1, 10, 224));
    STEP("all free by another", give_many(2, 300, 1));
    STEP("a round", thrift_wake(); run_thread());
    STEP("a purge by another", purge_for(PURGE_THREADS, NO_LIMIT));
    STEP("the owner goes on", take_many(1, 100, 224));
    STEP("1500 of 64, freed by another", take_many(0, 1500, 64); give_many(1, 1500, 1));
    STEP("a round while they sleep", thrift_wake(); run_thread());
    STEP("2000 of 64, freed by another", take_many(1, 2000, 64); give_many(2, 2000, 1));
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    STEP("rounds, refused", thrift_wake(); run_thread());
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    STEP("rounds try again", thrift_wake(); run_thread());
    options.limit_hard = limits_committed();
    STEP("the owner may not use its pages", heap_collect(heaps[0], COLLECT_ALL));
    options.limit_hard = 0;
    STEP("the owner looks again", take_many(0, 70, 64));
    STEP("suspects: an object that looks free", take(1, 64); take(1, 64);
         memcpy(live[live_count - 1].start, live[live_count - 2].start, 1));
    live[live_count - 1].start[0] = (char)0xff; /* the pattern is broken: begin anew */
    pattern_fill(live[live_count - 1].start, 64, 64);
    end_script();
}

static void mid_objects(void) {
    begin_script("Mid objects");
    STEP(
        "two of each class", for (size_t size = FRONTEND_MAX + 1; size < BACKEND_MIN; size += 1024) {
            take(0, size);
            take(1, size + 500);
        });
    STEP("half free by another", give_many(2, 12, 1));
    STEP("the rest free", give_all());
    STEP("60 of 2500, 60 of 9000", take_many(0, 60, 2500); take_many(1, 60, 9000));
    STEP("each third free", give_many(HEAPS, 120, 3));
    STEP("a round", thrift_wake(); run_thread());
    STEP("30 of 2500 again", take_many(0, 30, 2500));
    STEP("each second free by another", give_many(2, 110, 2));
    STEP("a purge", purge_for(PURGE_SHARED, NO_LIMIT));
    STEP("each second of the rest free", give_many(HEAPS, 50, 2));
    STEP("a purge of midend's pages", purge_for(PURGE_THREADS, NO_LIMIT));
    STEP("20 of 9000 again", take_many(1, 20, 9000));
    STEP(
        "40 times one of 3000 and back", for (unsigned i = 0; i < 40; i++) {
            take(0, 3000);
            give_many(0, 1, 1);
        });
    STEP("12 of 4096 free without room", take_many(0, 40, 4096); give_many(0, 40, 1));
    STEP("two rounds", thrift_wake(); run_thread(); thrift_wake(); run_thread());
    end_script();
}

static void large_objects(void) {
    begin_script("Large objects");
    STEP("one of each size", for (size_t size = BACKEND_MIN; size <= BACKEND_MAX / 4; size += size / 3) take(0, size));
    STEP("each second free", give_many(HEAPS, live_count, 2));
    STEP("the same sizes again",
         for (size_t size = BACKEND_MIN; size <= BACKEND_MAX / 8; size += size / 3) take(0, size));
    STEP(
        "alignments", for (size_t alignment = 64; alignment <= BACKEND_MAX; alignment *= 8) {
            heap_enter(heaps[0]);
            keep(0, allocate_aligned(alignment, 20000), 20000);
            CHECK((uintptr_t)live[live_count - 1].start % alignment == 0);
        });
    STEP("grow in place or elsewhere", change(0, 100000); change(1, 200000); change(live_count - 1, 60000));
    STEP("shrink", change(0, 30000); change(1, 15000); change(2, 100); change(3, 5000));
    STEP("whole roots", take_many(1, 3, BACKEND_MAX));
    STEP("free by another", give_many(2, 5, 1));
    STEP(
        "one round after the other", for (unsigned i = 0; i < 3; i++) {
            thrift_wake();
            run_thread();
        });
    STEP("40 of 64K, all free", take_many(1, 40, 65536); give_many(HEAPS, 40, 1));
    options.cache_min = 0;
    options.cache_percent = 0;
    STEP("nothing may wait", take_many(1, 40, 65536); give_many(HEAPS, 40, 1));
    options.cache_percent = 50;
    STEP("half of the peak may wait", take_many(1, 100, 100000); give_many(HEAPS, 100, 1));
    end_script();
}

static void huge_objects(void) {
    begin_script("Huge objects");
    STEP("three", take(0, BACKEND_MAX + 1); take(0, 6 << 20); take(0, 7 << 20));
    STEP("one free, and one that fits there", give_as(0, 1); take(0, (6 << 20) - 300000));
    STEP("one that does not fit", give_as(0, 1); take(1, 4900000));
    STEP("aligned", keep(0, allocate_aligned(8 << 20, 5 << 20), 5 << 20));
    STEP("grows", change(0, 8 << 20));
    STEP("grows in its room", change(0, (8 << 20) + 500000));
    STEP("shrinks", change(0, 5 << 20));
    STEP("shrinks to a range", change(0, 3 << 20); change(0, 1 << 20));
    STEP("free by another", give_many(2, 2, 1));
    STEP("a round", thrift_wake(); run_thread());
    options.cache_min = 1 << 20;
    STEP("parts wait", take(0, 9 << 20); take(0, 5 << 20); give_many(0, 2, 1));
    options.huge_pages = 1;
    STEP("huge pages", take(0, 9 << 20); take(0, 5000));
    sim_fail_only(SIM_UNMAP | SIM_DISCARD);
    sim_fail_after(0);
    STEP("free, refused", give_many(0, 1, 1); give_many(0, 1, 1));
    STEP("a purge, refused", purge_for(PURGE_OWN, NO_LIMIT));
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    STEP("a purge, granted", purge_for(PURGE_OWN, NO_LIMIT));
    end_script();
}

/* What a program of all sizes leaves behind in each tier. */
static void mix(unsigned heap, unsigned count) {
    static const size_t sizes[] = {16, 100, 500, 1500, 3000, 6000, 14000, 20000, 70000, 300000};
    for (unsigned i = 0; i < count; i++)
        take((heap + i / 64) % HEAPS, sizes[(i * i + i / 7) % (sizeof sizes / sizeof *sizes)]);
}

static void refusals(void) {
    static const struct {
        const char *name;
        unsigned operations;
    } refused[] = {{"maps", SIM_RESERVE},   {"unmaps", SIM_UNMAP},    {"discards", SIM_DISCARD},
                   {"resizes", SIM_RESIZE}, {"moves", SIM_MOVE},      {"threads", SIM_THREAD},
                   {"rights", SIM_PROTECT}, {"confines", SIM_CONFINE}};
    begin_script("Refused calls");
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
        sim_fail_only(refused[i].operations);
        STEP(refused[i].name, sim_fail_after(3); mix(0, 150); take(0, 5 << 20));
        STEP("free, in parts", sim_fail_after(1); give_many(1, live_count, 2); change(0, 6 << 20); give_all());
        STEP("a round", sim_fail_after(0); thrift_wake(); run_thread());
        STEP("a purge", purge_for(PURGE_OWN, NO_LIMIT));
        sim_fail_after(SIM_NEVER);
        STEP("granted", thrift_wake(); run_thread(); purge_for(PURGE_OWN, NO_LIMIT));
    }
    sim_fail_only(SIM_ANY);
    end_script();
}

static int calls_back;

static int at_limit(size_t size) {
    note_call("callback", size, true);
    if (live_count > 0) give_as(live[live_count - 1].heap, live_count - 1);
    return calls_back-- > 0;
}

static void limits(void) {
    begin_script("Limits");
    STEP("a mix", mix(0, 300));
    options.limit_soft = limits_committed() - (1 << 20);
    STEP("above the soft limit", mix(1, 100); give_many(HEAPS, 150, 2); take(0, 5 << 20); give_many(0, 1, 1));
    options.limit_soft = 0;
    options.limit_hard = limits_committed() + (1 << 20);
    STEP("below the hard limit", mix(1, 100); errno = 0; CHECK(!take(1, 5 << 20) && errno == ENOMEM));
    limit_register(at_limit);
    calls_back = 1;
    STEP("the callback frees", for (unsigned i = 0; i < 20; i++) take(0, 300000));
    calls_back = 2;
    STEP("the callback, small objects", for (unsigned i = 0; i < 6000 && take(1, 2000); i++));
    limit_register(NULL);
    STEP("none is left", for (unsigned i = 0; i < 100; i++) take(1, 2000));
    options.limit_hard = 0;
    STEP("all free", give_all());
    options.pressure = 1;
    sim_group = (struct group_memory){64 << 20, 1 << 20, 0};
    STEP("pressure", limits_look(); mix(0, 200); thrift_wake(); run_thread());
    sim_group = (struct group_memory){64 << 20, 32 << 20, 10};
    STEP("tasks wait", give_many(HEAPS, 200, 2); thrift_wake(); run_thread());
    sim_group = (struct group_memory){SIZE_MAX, SIZE_MAX, 0};
    STEP("no pressure", limits_look(); mix(0, 20));
    options.pressure = 0;
    atomic_store(&pressure_limit, 0);
    options.spare_callers = 1;
    STEP("spared callers", take(0, 6 << 20); give_all(); purge_for(PURGE_OWN, NO_LIMIT));
    end_script();
}

static void no_thread(void) {
    begin_script("Without the reclamation thread");
    options.reclaim_thread = THREAD_FALSE;
    STEP("a mix", mix(0, 400));
    STEP("two thirds free", give_many(HEAPS, 400, 3); give_many(HEAPS, 400, 2));
    sim_advance(600);
    STEP("a turn", mix(1, 400); give_many(HEAPS, 400, 1));
    sim_advance(600);
    STEP(
        "one more", for (unsigned i = 0; i < 200; i++) {
            take(0, 100000);
            give_many(0, 1, 1);
        });
    STEP("purges with little time", sim_set_operation_time(10);
         for (unsigned i = 0; i < 12; i++) purge_for(PURGE_OWN, 30));
    sim_set_operation_time(0);
    end_script();
}

static void forks(bool fresh) {
    begin_script(fresh ? "Forks" : "Forks without fresh heaps");
    options.fresh_after_fork = fresh;
    STEP("a mix", mix(0, 100));
    STEP("a parent", sim_fork(false));
    STEP("a child, while another thread walks", heap_enter(heaps[0]); CHECK(root_walk_begin()); sim_fork(true));
    STEP("its first object", keep(0, jw_malloc(100), 100));
    STEP("its next ones", for (unsigned i = 0; i < 40; i++) keep(0, jw_malloc(100), 100));
    heaps[0] = thread.heap;
    if (fresh) STEP("its second thread", heap_enter(&no_heap); keep(0, jw_malloc(100), 100); heap_enter(heaps[0]));
    STEP("a parent's objects are freed", give_many(0, 141, 2));
    STEP("a round", thrift_wake(); run_thread());
    STEP("the rest", give_many(0, 141, 1));
    STEP("two rounds", thrift_wake(); run_thread(); thrift_wake(); run_thread());
    if (!fresh) end_script(); /* a fresh child has lost the heaps of the parent's other threads */
}

/* --- Threads that end, and what else a thread does seldom -------------------------------------------------------- */

/* A thread makes objects, frees the newest of them, and ends. */
static void end_thread(const char *name, unsigned count, size_t size, unsigned freed) {
    begin_step(name);
    heap_enter(&no_heap);
    CHECK(heap_attach());
    for (unsigned i = 0; i < count; i++) keep(0, jw_malloc(size), size);
    for (unsigned i = 0; i < freed; i++) jw_free(live[--live_count].start);
    sim_thread_exit();
    heap_enter(heaps[0]);
    end();
}

static void take_without_heap(size_t size) {
    heap_enter(&no_heap);
    keep(0, jw_malloc(size), size);
    heap_enter(heaps[0]);
}

enum when { NEVER, AT_NEED };

static void ends_of_threads(enum when when) {
    static const unsigned modes[] = {THREAD_FALSE, THREAD_TRUE};
    static const char *const names[] = {"Ends without reclamation", "Ends"};
    begin_script(names[when]);
    options.reclaim_thread = modes[when];
    end_thread("nothing left", 20, 100, 20);
    end_thread("few objects left", 20, 100, 10);
    end_thread("many slabs left", 700, 2000, 20);
    end_thread("many slabs free", 700, 2000, 700);
    end_thread("mid objects", 60, 3000, 40);
    end_thread("large objects", 20, 40000, 20);
    STEP("a round", thrift_wake(); run_thread());
    STEP("objects of ended threads free", give_many(2, 400, 1));
    STEP("late objects of an ended thread", take_without_heap(100); take_without_heap(3000); take_without_heap(20000);
         take_without_heap(5 << 20));
    sim_advance(600);
    STEP("the rest free", give_all());
    STEP("two rounds", thrift_wake(); run_thread(); thrift_wake(); run_thread());
    STEP("a purge of ended ones", purge_for(PURGE_THREADS, NO_LIMIT));
    end_script();
    reclaimer_forget();
    heap_enter(&no_heap);
}

static void *all_ends(void *unused) {
    ends_of_threads(AT_NEED);
    ends_of_threads(NEVER);
    return unused;
}

static void on_a_thread(void *(*body)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

/* An object that begins as a free one of its size does, and is freed by another thread. The note of that is an object
 * of the allocator's own. */
static void suspect_of(size_t size) {
    begin_step("a suspect");
    char *free_one = take(1, size), *object = take(1, size);
    live_count -= 2;
    free_as(1, free_one);
    memcpy(object, free_one, 16);
    free_as(2, object);
    end_step();
    STEP("is settled", take(1, size); take(1, size); heap_enter(heaps[1]); heap_take_all_incoming(heaps[1]);
         heap_enter(heaps[0]));
    begin_step("its own suspect");
    free_one = take(1, size);
    object = take(1, size);
    live_count -= 2;
    free_as(1, free_one);
    memcpy(object, free_one, 16);
    free_as(1, object);
    end();
}

/* A mid object whose first words are those of a cached one, freed by another thread: the cache's thread looks. */
static void cached_suspect_of(size_t size) {
    begin_step("a suspect that looks cached");
    char *free_one = take(1, size), *object = take(1, size);
    live_count -= 2;
    free_as(1, free_one);
    const struct mid_cache *cache = heaps[1]->mid_caches;
    while (cache->cached != free_one) CHECK(++cache < heaps[1]->mid_caches + MID_CACHES);
    cached_link_write(object, free_one, cache->key);
    ((link_word *)object)[1] = cache->heap;
    free_as(2, object);
    end_step();
    STEP("is settled", heap_enter(heaps[1]); heap_take_all_incoming(heaps[1]); heap_enter(heaps[0]));
    begin_step("and its own");
    object = take(1, size);
    live_count--;
    cached_link_write(object, NULL, cache->key);
    ((link_word *)object)[1] = cache->heap;
    free_as(1, object);
    end();
}

static void suspects(void) {
    begin_script("Suspects");
    cached_suspect_of(3000);
    cached_suspect_of(9000);
    suspect_of(64);
    suspect_of(1000);
    suspect_of(3000);
    suspect_of(9000);
    end_script();
}

static void say_contents(char *object, size_t size) {
    size_t zeros = 0, marks = 0;
    for (size_t i = 0; i < size; i++) {
        zeros += object[i] == 0;
        marks += (unsigned char)object[i] == 0xab;
    }
    if (zeros == size || marks == size) say(zeros == size ? " zero" : " marked");
    else say(" old");
}

static void contents(void) {
    static const size_t sizes[] = {1, 8, 100, 2048, 3000, 14000, 20000, 300000, 5 << 20, 5 << 20};
    begin_script("Contents of new objects");
    for (unsigned init = INIT_NONE; init <= INIT_PATTERN + 1; init++) {
        bool zeroed = init > INIT_PATTERN;
        options.init = zeroed ? INIT_NONE : init;
        size_map_write(heaps[0]);
        for (unsigned old = 0; old < 2; old++) {
            say("%s, %s:",
                zeroed              ? "calloc"
                : init == INIT_NONE ? "none"
                : init == INIT_ZERO ? "zero"
                                    : "pattern",
                old ? "used before" : "new");
            for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                char *object = zeroed ? allocate_zeroed(sizes[i]) : jw_malloc(sizes[i]);
                if (init > INIT_NONE) say_contents(object, sizes[i]);
                keep(0, object, sizes[i]);
            }
            say("\n");
            give_all();
        }
    }
    options.init = INIT_NONE;
    size_map_write(heaps[0]);
    end_script();
}

static void find_in_parts(void) {
    for (unsigned part = 0; part < 24; part++) {
        found.objects = found.bytes = 0;
        CHECK(iterate_objects(transcript.base + ((uintptr_t)part << 20), 1 << 20, find, NULL));
        say(" %zu:%zu", found.objects, found.bytes);
    }
    char *object = live[0].start;
    for (unsigned size = 0; size < 3; size++) {
        found.objects = 0;
        CHECK(iterate_objects((uintptr_t)object - 1, size, find, NULL));
        say(" %zu", found.objects);
    }
    say("\n");
}

static void seldom(void) {
    begin_script("What is seldom");
    STEP("a mix", mix(0, 200); take(0, 5 << 20); take(0, 6 << 20));
    find_in_parts();
    transcript.after_waits = disable_end;
    transcript.waits_left = 2;
    STEP("another thread is disabled", disable_others(); take(0, 100); take(1, 100));
    transcript.waits_left = 1;
    STEP("and mid objects", disable_others(); take(1, 3000));
    STEP("disabled twice, enabled twice", disable_others(); disable_others(); disable_end(); disable_end());
    STEP("requests that cannot be served", CHECK(!take(0, IMPOSSIBLE_SIZE) && !take(0, SIZE_MAX));
         CHECK(!allocate_zeroed(SIZE_MAX) && !allocate_aligned(1 << 20, SIZE_MAX - 4096)); change(0, IMPOSSIBLE_SIZE);
         change(1, IMPOSSIBLE_SIZE); change(live_count - 1, IMPOSSIBLE_SIZE));
    end_script();
}

static void transcripts_are_as_they_were(void **state) {
    (void)state;
    if (sizeof(void *) < 8) check_skip("the counts are those of 64 bits");
    small_objects();
    objects_of_others();
    mid_objects();
    large_objects();
    huge_objects();
    refusals();
    limits();
    no_thread();
    on_a_thread(all_ends);
    suspects();
    contents();
    seldom();
    pauses(THREAD_TRUE);
    pauses(THREAD_AUTO);
    forks(false);
    told_of_addresses();
    forks(true);
    told_of_misuse();
    compare_with(JW_TRANSCRIPT_FILE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(transcripts_are_as_they_were)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
