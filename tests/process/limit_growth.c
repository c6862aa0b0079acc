/* limit_growth.c - at a limit: what objects need that grow, move, or take a mapping that waits; large limits; how often
 * the callback comes. One case a process. */
#include "limits.h"

#include <pthread.h>
#include <stdatomic.h>

/* Once for a request, which then succeeds and leaves errno alone; in the hardened build also where the quarantine has
 * memory. */
static void callback_comes_once(void) {
    CHECK(jw_on_limit(give_reserve) == NULL);
    for (unsigned i = 0; i < SIZES; i++) {
        size_t alignment = sizes[i] < 4096 ? 32 : 4096, count = 0;
        reserve = touched(malloc(6 * MB));
        CHECK(reserve != NULL);
        set("opt.limit_hard", committed() + 8 * MB);
        calls = nested = 0;
        for (errno = 0; calls == 0; count++) {
            bool aligned = count % 8 == 7;
            objects[count] = touched(aligned ? memalign(alignment, sizes[i]) : malloc(sizes[i]));
            CHECK(objects[count] != NULL && errno == 0);
            if (count % 4 != 3) continue;
            free(objects[count]);
            objects[count] = touched(malloc(sizes[i] / 2 + 1));
            CHECK(objects[count] != NULL && errno == 0);
        }
        CHECK(calls == 1);
        set("opt.limit_hard", 0);
        empty(count);
        jw_malloc_trim(0);
    }
}

/* At the hard limit a huge object grows after the callback, if its growth finds room then, though a copy does not. */
static void huge_grows_at_limit(void) {
    static const struct {
        size_t size, grown, reserve, room; /* MB */
    } cases[] = {{20, 26, 8, 2}, {5, 30, 12, 20}};
    CHECK(jw_on_limit(give_reserve) == NULL);
    for (unsigned i = 0; i < 2; i++) {
        size_t size = cases[i].size * MB;
        char *object = malloc(size);
        CHECK(object != NULL);
        pattern_fill(object, size, i);
        reserve = touched(malloc(cases[i].reserve * MB));
        jw_malloc_trim(0);
        calls = nested = 0;
        set("opt.limit_hard", committed() + cases[i].room * MB);
        errno = 0;
        object = realloc(object, cases[i].grown * MB);
        CHECK(object != NULL && errno == 0 && calls == 1);
        CHECK(committed() <= word("opt.limit_hard") && pattern_holds(object, size, i));
        CHECK(realloc(object, ROOM * ROOM * MB) == NULL && errno == ENOMEM && pattern_holds(object, size, i));
        set("opt.limit_hard", 0);
        free(object);
        jw_malloc_trim(0);
    }
}

/* Memory that has gone back counts no more, though classes keep its addresses; and what comes back into use counts
 * again, at the hard limit, too. For the hardened build. */
static void kept_addresses_are_free(void) {
    enum { PER_SIZE = 3 * MB };
    size_t before = committed(), counts[SIZES], most = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; sizes[i] < 20000; i++) {
            counts[i] = fill(sizes[i], PER_SIZE);
            if (committed() > most) most = committed();
            empty(counts[i]);
        }
        jw_malloc_trim(0);
        CHECK(committed() < before + 2 * MB);
    }
    CHECK(most >= before + PER_SIZE);
    set("opt.limit_soft", before + 4 * MB);
    set("opt.limit_hard", before + 2 * MB);
    for (unsigned i = 0; sizes[i] < 20000; i++) {
        size_t count = 0;
        while ((objects[count] = touched(malloc(sizes[i]))) != NULL) {
            count++;
            /* and a new root's tables */
            CHECK(count * sizes[i] < 4 * MB && committed() <= word("opt.limit_hard") + MB / 8);
        }
        CHECK(errno == ENOMEM && count * sizes[i] > MB / 4);
        empty(count);
        jw_malloc_trim(0);
    }
}

/* A huge object in the hardened build's quarantine has no memory, and counts as neither committed nor in use. */
static void quarantined_counts_not(void) {
    enum { COUNT = 10 };
    size_t before = committed(), in_use = jw_mallinfo2().uordblks;
    for (unsigned i = 0; i < COUNT; i++) CHECK((objects[i] = touched(malloc(6 * MB))) != NULL);
    CHECK(committed() >= before + COUNT * 6 * MB);
    empty(COUNT);
    CHECK(committed() < before + MB && jw_mallinfo2().uordblks < in_use + MB);
}

/* A large object needs no more room than it grows by, if the range behind it is free. */
static void large_grows_at_limit(void) {
    enum { COUNT = 16, SIZE = 200000, MORE = 300000 };
    unsigned in_place = 0;
    for (unsigned i = 0; i < COUNT; i++) CHECK((objects[i] = touched(malloc(SIZE))) != NULL);
    for (unsigned i = 1; i < COUNT; i += 2) free(objects[i]);
    jw_malloc_trim(0);
    for (unsigned i = 0; i < COUNT; i += 2) {
        size_t limit = committed() + MORE;
        set("opt.limit_hard", limit);
        char *grown = realloc(objects[i], 2 * SIZE);
        CHECK(committed() <= limit);
        set("opt.limit_hard", 0);
        in_place += grown == objects[i];
        if (grown != NULL) objects[i] = grown;
    }
    CHECK(in_place >= COUNT / 4);
}

/* While an object moves, it counts once. */
static _Atomic(bool) moved_enough;

static void *move_about(void *unused) {
    for (unsigned i = 0; i < 4000; i++) {
        char *object = malloc(20 * MB), *wall = malloc(20 * MB);
        CHECK(object != NULL && wall != NULL);
        object = realloc(object, 30 * MB);
        CHECK(object != NULL);
        free(object);
        free(wall);
    }
    atomic_store(&moved_enough, true);
    return unused;
}

static void moved_counts_once(void) {
    pthread_t thread;
    size_t before = committed(), most = 0;
    set("opt.limit_soft", 1);
    CHECK(pthread_create(&thread, NULL, move_about, NULL) == 0);
    while (!atomic_load(&moved_enough)) {
        size_t now = committed();
        if (now > most) most = now;
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(most < before + 60 * MB);
}

/* A freed mapping may serve a smaller request. What it has beyond that counts, too. */
static void reused_within_limit(void) {
    for (size_t size = 8 * MB; size < 10 * MB; size += MB / 8)
        for (size_t less = size - size / 9; less <= size; less += MB / 16) {
            char *object = touched(malloc(size));
            CHECK(object != NULL);
            free(object);
            size_t limit = committed() + 4096; /* 0 would be none */
            set("opt.limit_hard", limit);
            object = malloc(less);
            CHECK(committed() <= limit);
            set("opt.limit_hard", 0);
            free(object);
        }
}

/* A thread that is gone in the midst of the callback leaves the callback to the next thread with its heap. */
static int leave_thread(size_t size) {
    (void)size;
    calls++;
    pthread_exit(NULL);
}

static void *fail_once(void *unused) {
    free(malloc(100));
    CHECK(malloc(2 * MB) == NULL);
    return unused;
}

static void *grow_once(void *object) {
    CHECK(realloc(object, 20 * MB) == NULL);
    return NULL;
}

static void callback_after_a_cancelled_one(void) {
    pthread_t thread;
    CHECK(jw_on_limit(leave_thread) == NULL);
    set("opt.limit_hard", 3 * MB);
    char *most = touched(malloc(2 * MB));
    CHECK(most != NULL);
    for (unsigned i = 1; i <= 3; i++) {
        CHECK(pthread_create(&thread, NULL, fail_once, NULL) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(calls == i);
    }
    free(most);
    set("opt.limit_hard", 24 * MB);
    most = touched(malloc(6 * MB));
    char *wall = touched(malloc(6 * MB));
    CHECK(most != NULL && wall != NULL);
    for (unsigned i = 4; i <= 6; i++) {
        CHECK(pthread_create(&thread, NULL, grow_once, most) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(calls == i);
    }
    free(most);
    free(wall);
}

/* A thread has the callback at its first request, too. */
static void *ask_first(void *size) {
    errno = 0;
    char *object = touched(malloc(*(const size_t *)size));
    CHECK(object != NULL && errno == 0);
    free(object);
    return NULL;
}

static void callback_for_a_first_request(void) {
    static size_t firsts[] = {1 * MB, 5 * MB, 20 * MB};
    pthread_t thread;
    CHECK(jw_on_limit(give_reserve) == NULL);
    for (unsigned i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        reserve = touched(malloc(23 * MB));
        CHECK(reserve != NULL);
        calls = 0;
        set("opt.limit_hard", committed() + MB / 2);
        CHECK(pthread_create(&thread, NULL, ask_first, &firsts[i]) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(calls == 1);
        set("opt.limit_hard", 0);
        jw_malloc_trim(0);
    }
}

/* The sums have room for limits above half of all addresses. Untouched objects count in full. */
static void large_limit_holds(void) {
    const size_t limit = (size_t)2300 * MB, step = (size_t)50 * MB;
    size_t all = 0;
    void *volatile object = &all;
    set("opt.limit_hard", limit);
    for (; object != NULL && all <= limit + step; all += step) object = malloc(step);
    CHECK(object == NULL && all <= limit + step && all + 4 * step > limit && committed() <= limit);
}

/* Both limits are exceeded by the same bytes, so no more than these are given back. */
static void excess_counts_once(void) {
    enum { COUNT = 200, SIZE = 100000 };
    for (unsigned i = 0; i < COUNT; i++) CHECK((objects[i] = touched(malloc(SIZE))) != NULL);
    for (unsigned i = 0; i < COUNT; i += 2) free(objects[i]);
    size_t limit = committed() + MB;
    set("opt.limit_hard", limit);
    set("opt.limit_soft", limit);
    CHECK(malloc(3 * MB) != NULL);
    CHECK(committed() <= limit && committed() > limit - MB);
}

int main(int count, char **arguments) {
    static const struct limit_case cases[] = {{"huge", huge_grows_at_limit},
                                              {"large", large_grows_at_limit},
                                              {"moved", moved_counts_once},
                                              {"reused", reused_within_limit},
                                              {"cancelled", callback_after_a_cancelled_one},
                                              {"heapless", callback_for_a_first_request},
                                              {"far", large_limit_holds},
                                              {"excess", excess_counts_once},
                                              {"once", callback_comes_once},
                                              {"kept", kept_addresses_are_free},
                                              {"quarantined", quarantined_counts_not}};
    return run_case(cases, sizeof cases / sizeof *cases, count == 2 ? arguments[1] : "");
}
