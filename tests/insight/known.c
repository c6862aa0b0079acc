/* known.c - a program whose allocations are known by construction; record_test.py knows them too.
 *
 * Sizes of 1,000,000 and more are the test's own: libc has none of them. Each thread waits for the one before it. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECTS = 100, BIG = 1000000, THREADS = 20 };

static char *objects[OBJECTS], *given[OBJECTS];

static void *giver(void *argument) {
    (void)argument;
    prctl(PR_SET_NAME, "giver");
    for (int i = 0; i < OBJECTS; i++) given[i] = calloc(BIG + 1000 + i, 1);
    for (int i = 0; i < OBJECTS / 2; i++) free(given[i]);
    return NULL;
}

/* 100 objects of 1,000,000 + i: each grows by 50,000,000 in its time and is freed in the end. Others between. */
static void plain(void) {
    for (int i = 0; i < OBJECTS; i++) objects[i] = malloc(BIG + i);
    for (int i = 0; i < OBJECTS; i += 2) objects[i] = realloc(objects[i], 2 * BIG + i);
    char *aligned = aligned_alloc(4096, 4096 * 300), *other = NULL;
    if (posix_memalign((void **)&other, 64, BIG + 500) != 0) abort();
    volatile size_t impossible = SIZE_MAX - 65536;
    if (realloc(other, impossible) != NULL) abort(); /* fails, and other lives on */
    pthread_t thread;
    if (pthread_create(&thread, NULL, giver, NULL) != 0) abort();
    pthread_join(thread, NULL);
    for (int i = OBJECTS / 2; i < OBJECTS - 10; i++) free(given[i]); /* another thread's; ten are never freed */
    free(aligned);
    free(other);
    for (int i = 0; i < OBJECTS; i++) free(objects[i]);
}

static void *short_lived(void *argument) {
    free(malloc(BIG + 2000 + (uintptr_t)argument));
    return NULL;
}

static void threads(void) {
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_lived, (void *)i) != 0) abort();
        pthread_join(thread, NULL);
    }
}

/* The child frees what its parent allocated, and both go on by themselves. */
static void in_child(void) {
    free(objects[0]);
    for (int i = 0; i < OBJECTS; i++) free(malloc(BIG + 3000 + i));
    _exit(0);
}

static void forks(int raw) {
    objects[0] = malloc(BIG + 4000);
    pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) in_child();
    for (int i = 0; i < OBJECTS; i++) free(malloc(BIG + 5000 + i));
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) abort();
    free(objects[0]);
}

/* Each child frees the object that its parent allocated for it. */
static void many_forks(void) {
    for (int i = 0; i < 1000; i++) {
        int status;
        objects[0] = malloc(BIG + 4000);
        pid_t child = fork();
        if (child == 0) {
            free(objects[0]);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0) abort();
        free(objects[0]);
    }
}

static void *oddly_named(void *argument) {
    prctl(PR_SET_NAME, "</script><b>$x_2");
    return short_lived(argument);
}

static void many_threads(void) {
    enum { MANY = 500 };
    static pthread_t thread[MANY];
    for (uintptr_t i = 0; i < MANY; i++)
        if (pthread_create(&thread[i], NULL, oddly_named, (void *)i) != 0) abort();
    for (int i = 0; i < MANY; i++) pthread_join(thread[i], NULL);
}

/* More than a ring holds; then the end without a word. */
static void killed(void) {
    for (int i = 0; i < 200000; i++) free(malloc(BIG + 6000));
    raise(SIGKILL);
}

static void long_loop(void) {
    for (int i = 0; i < 1000000; i++) free(malloc((size_t)i % 1000 + 1));
}

/* Children begin while other threads allocate. Each thread has objects before the first child and after the last. */
static atomic_int crowd_ends;

static void *busy(void *argument) {
    (void)argument;
    while (!atomic_load(&crowd_ends))
        for (int i = 0; i < 100; i++) free(malloc(BIG + 8000 + i));
    return NULL;
}

static void crowd(void) {
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, busy, NULL) != 0) abort();
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) in_child();
        if (waitpid(child, &status, 0) != child || status != 0) abort();
    }
    atomic_store(&crowd_ends, 1);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "plain";
    if (strcmp(what, "plain") == 0) plain();
    else if (strcmp(what, "threads") == 0) threads();
    else if (strcmp(what, "fork") == 0) forks(0);
    else if (strcmp(what, "clone") == 0) forks(1);
    else if (strcmp(what, "killed") == 0) killed();
    else if (strcmp(what, "long") == 0) long_loop();
    else if (strcmp(what, "crowd") == 0) crowd();
    else if (strcmp(what, "many_forks") == 0) many_forks();
    else if (strcmp(what, "many_threads") == 0) many_threads();
    else if (strcmp(what, "exec") == 0) {
        free(malloc(BIG + 7000));
        execl(arguments[0], arguments[0], "plain", NULL);
    } else return 2;
    return 0;
}
