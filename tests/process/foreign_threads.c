/* foreign_threads.c - libc makes threads past pthread_create (thrd_create, timers). Their ends count for no other's. A
 * thread that cannot be made counts as none: else ours would begin, and wait for its end. One that never allocates
 * counts. */
#include "tiers.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>

enum { TIMES = 10 };
static pid_t ended[TIMES + 1];
static unsigned ends;

static int come_and_go(void *unused) {
    (void)unused;
    void *volatile object = malloc(100);
    free(object);
    ended[ends] = (pid_t)syscall(SYS_gettid);
    return 0;
}

static pthread_barrier_t together;

static void *sleep_on(void *unused) {
    come_and_go(NULL);
    pthread_barrier_wait(&together);
    for (;;) usleep(1000000);
    return unused;
}

/* A thread is joined a little before the kernel has seen it off. */
static bool has_ended(pid_t number) {
    bool found = false;
    for (unsigned i = 0; i < ends; i++) found |= ended[i] == number;
    return found;
}

static unsigned thread_count(void) {
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (directory == NULL) check_skip("no /proc");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.' && !has_ended(atoi(entry->d_name));
    closedir(directory);
    return count;
}

/* Weak: there is none without the library. */
__attribute__((weak)) int jw_ctl(const char *name, void *old, size_t *old_size, const void *value, size_t value_size);
__attribute__((weak)) int jw_malloc_trim(size_t padding);

static size_t allocated(void) {
    size_t bytes = 0, size = sizeof bytes;
    if (jw_malloc_trim) jw_malloc_trim(0); /* also the quarantine of the hardened build */
    if (jw_ctl) CHECK(jw_ctl("stats.allocated", &bytes, &size, NULL, 0) == 0);
    return bytes;
}

static void threads_that_cannot_be_made(void) {
    enum { MANY = 1000 };
    pthread_attr_t too_large;
    pthread_t thread;
    size_t size = (size_t)3 << (sizeof(size_t) > 4 ? 46 : 30); /* more than there are addresses */
    free(malloc(100));
    CHECK(pthread_attr_init(&too_large) == 0 && pthread_attr_setstacksize(&too_large, size) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread, &too_large, sleep_on, NULL) == EAGAIN && thread_count() == 1);
    size_t before = allocated();
    for (int i = 0; i < MANY; i++) CHECK(pthread_create(&thread, &too_large, sleep_on, NULL) == EAGAIN);
    CHECK(allocated() < before + MANY); /* not a byte for each */
}

static void *sleep_only(void *unused) {
    for (;;) usleep(1000000);
    return unused;
}

/* No memory is left for what pthread_create notes of a thread. The thread counts all the same: ours lives beside it. */
static void begin_without_memory(void) {
    const size_t limit = 1, none = 0;
    pthread_t thread;
    if (!jw_ctl) return;
    for (size_t size = 32; size <= 4096; size += 16) { /* of all other sizes libc may have some */
        void *volatile kept = malloc(size), *volatile freed = malloc(size);
        CHECK(kept != NULL);
        free(freed);
    }
    CHECK(jw_ctl("opt.limit_hard", NULL, NULL, &limit, sizeof limit) == 0);
    for (void *volatile object = &thread; object != NULL;) object = malloc(2 * sizeof(void *));
    CHECK(pthread_create(&thread, NULL, sleep_only, NULL) == 0);
    CHECK(jw_ctl("opt.limit_hard", NULL, NULL, &none, sizeof none) == 0);
    AWAIT(thread_count() == 3);
}

static void *never_allocate(void *unused) {
    ended[ends] = (pid_t)syscall(SYS_gettid);
    return unused;
}

/* The end of a thread that has no heap counts, too: ours ends with it. */
static void a_thread_without_a_heap(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, never_allocate, NULL) == 0 && pthread_join(thread, NULL) == 0);
    ends++;
    AWAIT(thread_count() == 1); /* the kernel may still show a thread that has told its end */
}

int main(void) {
    pthread_t sleeper;
    int status;
    pid_t child = fork();
    if (child == 0) {
        begin_without_memory();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    threads_that_cannot_be_made();
    a_thread_without_a_heap();
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < TIMES; i++) {
        thrd_t thread;
        if (i == 5) {
            CHECK(pthread_create(&sleeper, NULL, sleep_on, NULL) == 0);
            pthread_barrier_wait(&together);
        }
        CHECK(thrd_create(&thread, come_and_go, NULL) == thrd_success && thrd_join(thread, NULL) == thrd_success);
        ends++;
        CHECK(thread_count() == (i < 5 ? 1 : 3)); /* the sleeper, and the reclamation thread */
    }
    return 0;
}
