/* traced.c - the process whose threads are stopped: the main thread does what the tracer orders. */
#include "frozen.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "crowd.h"
#include "process/tiers.h"

static struct member main_member = {.random = 1}, guest_member = {.random = 2};
static pthread_t victim_thread;

void futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    struct timespec timeout = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    syscall(SYS_futex, word, FUTEX_WAIT, expected, milliseconds == 0 ? NULL : &timeout, NULL, 0);
}

void futex_wake(_Atomic(uint32_t) *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void stop_here(void) {
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSTOP);
}

static void *victim(void *unused) {
    (void)unused;
    const struct scene *scene = &scenes[shared->scene];
    if (scene->set_up != NULL) scene->set_up();
    atomic_store(&shared->victim, (pid_t)syscall(SYS_gettid));
    while (atomic_load(&shared->seized) == 0) futex_wait(&shared->seized, 0, 0);
    stop_here();
    scene->run();
    if (strstr(scene->name, "exit") == NULL && strstr(scene->name, "late") == NULL) stop_here();
    return NULL;
}

static void start_victim(void) {
    const struct scene *scene = &scenes[shared->scene];
    if (scene->prepare != NULL) scene->prepare();
    atomic_store(&shared->victim, 0);
    atomic_store(&shared->seized, 0);
    CHECK(pthread_create(&victim_thread, NULL, victim, NULL) == 0);
    while (atomic_load(&shared->victim) == 0) usleep(100); /* until the real thread runs */
}

/* New in every order, so that threads begin and end while the victim is stopped. */
static void *guest(void *unused) {
    (void)unused;
    crowd_work(&guest_member, shared->operations_each);
    return NULL;
}

/* Ranges of one class go and come, more than a Nest has slots: the scene "list" sees to it that they cannot join. */
static void renew_ranges(void) {
    enum { COUNT = 100, SIZE = 20000 };
    static void *ranges[COUNT];
    for (size_t i = 0; i < COUNT; i++) free(ranges[i]);
    for (size_t i = 0; i < COUNT; i++) CHECK((ranges[i] = malloc(SIZE)) != NULL);
}

static void work(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, guest, NULL) == 0);
    crowd_work(&main_member, shared->operations_each);
    renew_ranges();
    scenes_take_gifts(4);
    CHECK(pthread_join(thread, NULL) == 0);
    atomic_fetch_add(&shared->operations, 2 * shared->operations_each);
}

static void live_as_child(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tiers_work(1);
    shared->child = getpid();
    work();
    tiers_work(2);
    _exit(0);
}

static void fork_and_work(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) live_as_child();
    int status = -1;
    atomic_store(&shared->child, child);
    CHECK(waitpid(child, &status, 0) == child);
    atomic_store(&shared->child, 0);
    CHECK(status == 0);
    atomic_fetch_add(&shared->forks, 1);
    crowd_work(&main_member, 100);
}

static void note_most(_Atomic(uint64_t) *most, uint64_t value) {
    if (value > atomic_load(most)) atomic_store(most, value);
}

/* Of ranges side by side every second is freed: they are of one class, too many for a Nest's slots, and cannot join. */
static void fill(void) {
    enum { COUNT = 500, SIZE = 5 * 4096 };
    static void *ranges[COUNT];
    size_t before = resident_bytes();
    for (size_t i = 0; i < COUNT; i++) {
        ranges[i] = malloc(SIZE);
        CHECK(ranges[i] != NULL);
        for (size_t at = 0; at < SIZE; at += 4096) ((char *)ranges[i])[at] = 1;
    }
    for (size_t i = 0; i < COUNT; i += 2) free(ranges[i]);
    note_most(&shared->most_cached, mallinfo2().keepcost);
    size_t resident = resident_bytes(), live = before + COUNT / 2 * SIZE;
    note_most(&shared->most_resident, resident > live ? resident - live : 0);
    for (size_t i = 1; i < COUNT; i += 2) free(ranges[i]);
    note_most(&shared->most_cached, mallinfo2().keepcost);
    atomic_fetch_add(&shared->operations, 2 * COUNT);
}

/* Enough is freed for the reclamation thread to start, or to go on. */
static void start_reclamation(void) {
    enum { SIZE = 900000 };
    void *object = malloc(SIZE);
    CHECK(object != NULL);
    memset(object, 1, SIZE);
    free(object);
}

static void obey(enum order order) {
    switch (order) {
    case ORDER_WORK: work(); return;
    case ORDER_FORK: fork_and_work(); return;
    case ORDER_FILL: fill(); return;
    case ORDER_START: start_reclamation(); return;
    case ORDER_VICTIM: start_victim(); return;
    case ORDER_JOIN:
        CHECK(pthread_join(victim_thread, NULL) == 0);
        scenes_clean_up();
        return;
    case ORDER_QUIT:
        crowd_rest(&main_member);
        crowd_rest(&guest_member);
        _exit(0);
    }
}

void traced_process(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    resident_bytes();
    for (uint32_t seen = 0;;) {
        while (atomic_load(&shared->ordered) == seen) futex_wait(&shared->ordered, seen, 0);
        obey(shared->order);
        atomic_store(&shared->done, ++seen);
        futex_wake(&shared->done);
    }
}
