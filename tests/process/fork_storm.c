/* fork_storm.c - forks from many threads while all allocate: every child works in all tiers at once, with a thread too.
 *
 *   fork_storm [FORKS per thread]
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tiers.h"

enum { ALLOCATORS = 2, FORKERS = 2 };

static atomic_bool stop;
static int forks = 100;
static struct tiers inherited;

static void *work_in_thread(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < 3; i++) tiers_work(i);
    return NULL;
}

static void *allocate_until_told(void *seed) {
    uint64_t state = (uint64_t)(uintptr_t)seed;
    struct tiers held;
    tiers_allocate(&held, state);
    while (!atomic_load(&stop)) {
        void *objects[50];
        for (size_t i = 0; i < 50; i++) objects[i] = malloc(random_below(&state, 1u << (4 + i % 15)));
        for (size_t i = 0; i < 50; i++) free(objects[i]);
    }
    tiers_free(&held, (uint64_t)(uintptr_t)seed);
    return NULL;
}

/* The first thing a child does is to allocate, whatever the other threads were doing. */
static void live_as_child(int depth) {
    pthread_t thread;
    struct tiers tiers;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tiers_allocate(&tiers, 1);
    tiers_free(&inherited, 7);
    CHECK(pthread_create(&thread, NULL, work_in_thread, NULL) == 0);
    for (uint64_t i = 0; i < 3; i++) tiers_work(i);
    CHECK(pthread_join(thread, NULL) == 0);
    tiers_free(&tiers, 1);
    if (depth == 0) {
        pid_t grandchild = fork();
        CHECK(grandchild >= 0);
        if (grandchild == 0) {
            tiers_work(3);
            _exit(0);
        }
        int status;
        CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
    }
    _exit(0);
}

static void *fork_many(void *unused) {
    (void)unused;
    for (int i = 0; i < forks; i++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) live_as_child(i % 4);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
        tiers_work((uint64_t)i);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t allocators[ALLOCATORS], forkers[FORKERS];
    if (count > 1) forks = atoi(arguments[1]);
    tiers_allocate(&inherited, 7);
    for (size_t i = 0; i < ALLOCATORS; i++)
        CHECK(pthread_create(&allocators[i], NULL, allocate_until_told, (void *)(i + 1)) == 0);
    for (size_t i = 0; i < FORKERS; i++) CHECK(pthread_create(&forkers[i], NULL, fork_many, NULL) == 0);
    fork_many(NULL);
    for (size_t i = 0; i < FORKERS; i++) CHECK(pthread_join(forkers[i], NULL) == 0);
    atomic_store(&stop, true);
    for (size_t i = 0; i < ALLOCATORS; i++) CHECK(pthread_join(allocators[i], NULL) == 0);
    tiers_free(&inherited, 7);
    return 0;
}
