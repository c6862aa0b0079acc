/* disabled.c - jw_malloc_disable: the other threads' allocations wait, whatever their size and function; then all go
 * on, with the same classes as before.
 *
 * Runs in the mock C library, too, which cannot sleep: pauses are read off the clock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

#ifndef JW_PREFIXED
__attribute__((weak)) void jw_malloc_disable(void);
__attribute__((weak)) void jw_malloc_enable(void);
#endif

enum { QUIET_MS = 40, ROUNDS = 3, SIZES = 2048 };

static void pause_for(unsigned milliseconds) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < (long)milliseconds);
}

/* What the threads do, over and over: a small, a mid, a large and a huge object, and the other functions. */
static void *grown(size_t size) {
    return realloc(malloc(size), 2 * size);
}

static void *make(unsigned kind) {
    switch (kind) {
    case 0: return malloc(48);
    case 1: return malloc(5000);
    case 2: return malloc(60000);
    case 3: return malloc((size_t)5 << 20);
    case 4: return calloc(1, 100000);
    case 5: return grown(20000);
    case 6: return memalign(65536, 100);
    default: return malloc(0);
    }
}

enum { KINDS = 8 };

/* The kinds that wait: in the hardened build, where objects are exactly as large as asked for, malloc(0) goes on. */
static unsigned waiting_kinds = KINDS;

static void learn_kinds(void) {
    void *object = malloc(5);
    if (malloc_usable_size(object) == 5) waiting_kinds = KINDS - 1;
    free(object);
}

static atomic_uint made[KINDS];
static atomic_bool over;

static void *work(void *kind) {
    unsigned number = (unsigned)(size_t)kind;
    while (!atomic_load(&over)) {
        void *object = make(number);
        CHECK(object != NULL);
        free(object);
        atomic_fetch_add(&made[number], 1);
    }
    return NULL;
}

static void note_made(unsigned *count) {
    for (unsigned kind = 0; kind < KINDS; kind++) count[kind] = atomic_load(&made[kind]);
}

/* At least one more of each kind. */
static void all_go_on(void) {
    unsigned before[KINDS];
    note_made(before);
    for (unsigned kind = 0; kind < KINDS; kind++)
        while (atomic_load(&made[kind]) == before[kind]) pause_for(1);
}

/* A call that had begun may end. */
static void none_goes_on(const unsigned *before) {
    pause_for(QUIET_MS);
    for (unsigned kind = 0; kind < waiting_kinds; kind++) CHECK(atomic_load(&made[kind]) - before[kind] <= 1);
}

static atomic_uint fresh;

/* A thread without a heap. */
static void *begin(void *unused) {
    (void)unused;
    void *object = malloc(100);
    CHECK(object != NULL);
    free(object);
    atomic_fetch_add(&fresh, 1);
    return NULL;
}

static void *hold_too(void *unused) {
    (void)unused;
    jw_malloc_disable();
    atomic_fetch_add(&fresh, 1);
    jw_malloc_enable();
    return NULL;
}

static void the_holder_allocates(void) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        void *object = make(kind);
        CHECK(object != NULL);
        free(object);
    }
}

static void the_child_allocates(void) {
    int status, process = fork();
    if (process == 0) {
        the_holder_allocates(); /* in another heap */
        _exit(0);
    }
    CHECK(process > 0 && waitpid(process, &status, 0) == process && status == 0);
}

static void others_wait(void) {
    unsigned counts[KINDS], before = atomic_load(&fresh);
    pthread_t late, other;
    all_go_on();
    CHECK(pthread_create(&other, NULL, begin, NULL) == 0 && pthread_join(other, NULL) == 0);
    CHECK(atomic_load(&fresh) == before + 1);
    jw_malloc_disable();
    note_made(counts);
    jw_malloc_disable(); /* the same thread: nothing happens */
    CHECK(pthread_create(&late, NULL, begin, NULL) == 0);
    CHECK(pthread_create(&other, NULL, hold_too, NULL) == 0);
    the_holder_allocates();
    none_goes_on(counts);
    CHECK(atomic_load(&fresh) == before + 1);
    the_child_allocates();
    none_goes_on(counts);
    jw_malloc_enable();
    jw_malloc_enable(); /* there is nothing to end */
    CHECK(pthread_join(late, NULL) == 0 && pthread_join(other, NULL) == 0);
    all_go_on();
}

static atomic_uint step;

static void note_sizes(size_t *usable) {
    for (size_t size = 1; size <= SIZES; size++) {
        void *object = malloc(size);
        usable[size - 1] = malloc_usable_size(object);
        free(object);
    }
}

/* A heap with few objects has coarse classes, and keeps them. */
static void *same_classes(void *unused) {
    static size_t before[SIZES], after[SIZES];
    (void)unused;
    note_sizes(before);
    atomic_store(&step, 1);
    while (atomic_load(&step) != 2) pause_for(1);
    note_sizes(after);
    for (size_t i = 0; i < SIZES; i++) CHECK(before[i] == after[i]);
    return NULL;
}

static void classes_stay(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, same_classes, NULL) == 0);
    while (atomic_load(&step) != 1) pause_for(1);
    jw_malloc_disable();
    jw_malloc_enable();
    atomic_store(&step, 2);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
    static pthread_t threads[KINDS];
    if (!under_jwmalloc()) return 0;
    learn_kinds();
    classes_stay();
    for (size_t i = 0; i < KINDS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (unsigned i = 0; i < ROUNDS; i++) others_wait();
    atomic_store(&over, true);
    for (size_t i = 0; i < KINDS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
