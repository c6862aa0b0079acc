/* sites.c - a program whose functions allocate known numbers of known sizes; profile_test.py knows them too. */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 100000, THREADS = 8 };

static void *kept[THREADS + 2][MOST];

#define SITE __attribute__((noinline))

/* Allocates `count` objects, frees those before `freed`, keeps the others. Each site is a function of its own. */
#define MAKE_SITE(name, allocation)                                                                                    \
    SITE static void name(void **objects, int count, int freed, size_t size) {                                         \
        (void)size;                                                                                                    \
        for (int i = 0; i < count; i++) {                                                                              \
            objects[i] = allocation;                                                                                   \
            if (objects[i] == NULL) abort();                                                                           \
        }                                                                                                              \
        for (int i = 0; i < freed; i++) free(objects[i]);                                                              \
    }

static void *by_posix(size_t size) {
    void *object = NULL;
    return posix_memalign(&object, 64, size) == 0 ? object : NULL;
}

static void *(*operator_new)(size_t);

MAKE_SITE(site_malloc, malloc(size))
MAKE_SITE(site_calloc, calloc(size / 8, 8))
MAKE_SITE(site_aligned, aligned_alloc(64, size))
MAKE_SITE(site_posix, by_posix(size))
MAKE_SITE(site_new, operator_new(size))
MAKE_SITE(site_realloc, realloc(malloc(size / 2), size))
MAKE_SITE(site_large, malloc(size))
MAKE_SITE(site_kept, malloc(size))
MAKE_SITE(site_thread, malloc(size))
MAKE_SITE(site_parent, malloc(size))
MAKE_SITE(site_child, malloc(size))
MAKE_SITE(site_first, malloc(size))
MAKE_SITE(site_second, malloc(size))
MAKE_SITE(site_third, malloc(size))

SITE static void site_small(void) {
    for (int i = 0; i < 1000000; i++) free(malloc(16));
}

/* A frame whose size differs from call to call, over one that holds what looks like such frames' callers. */
SITE static void *under_hole(size_t hole) {
    volatile char *place = alloca(hole + 16);
    place[0] = place[hole] = 1;
    void *object = malloc(1000);
    place[hole / 2] = 2;
    return object;
}

SITE static void site_even(size_t hole) {
    volatile char *place = alloca(64);
    place[0] = 1;
    free(under_hole(hole));
    place[1] = 2;
}

SITE static void site_odd(size_t hole) {
    volatile char *place = alloca(hole + 16);
    place[0] = 1;
    free(under_hole(hole / 2));
    place[1] = 2;
}

static void holes(void) {
    for (size_t i = 0; i < 100000; i++) {
        if (i % 2 == 0) site_even(i * 48 % 4096);
        else site_odd(i * 80 % 4096);
    }
}

static void plain(void) {
    operator_new = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
    site_small();
    site_malloc(kept[0], 50000, 50000, 1000);
    site_calloc(kept[0], 50000, 50000, 1000);
    site_aligned(kept[0], 50000, 50000, 1024);
    site_posix(kept[0], 50000, 50000, 1000);
    site_realloc(kept[0], 50000, 50000, 2000);
    site_new(kept[0], 50000, 50000, 1000);
    site_large(kept[1], 300, 100, 1000000);
    site_kept(kept[0], 50000, 20000, 500);
}

static void *in_thread(void *objects) {
    site_thread(objects, 20000, 5000, 700);
    return NULL;
}

/* Beside each other. Half of what is left is freed by another thread. */
static void threads(void) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, in_thread, kept[i]) != 0) abort();
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        for (int k = 5000; k < 12500; k++) free(kept[i][k]);
}

static void forks(int raw) {
    site_parent(kept[0], 40000, 0, 900);
    pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
        for (int i = 0; i < 10000; i++) free(kept[0][i]);
        site_child(kept[1], 40000, 10000, 900);
        _exit(0);
    }
    for (int i = 10000; i < 40000; i++) free(kept[0][i]);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) abort();
}

static void stop(const char *phase) {
    char line[10];
    printf("%d %s\n", (int)getpid(), phase);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) exit(1);
}

static void phases(void) {
    stop("begin");
    site_first(kept[0], 40000, 10000, 800);
    stop("first");
    site_second(kept[1], 40000, 10000, 800);
    stop("second");
    for (int i = 10000; i < 40000; i++) free(kept[0][i]);
    site_third(kept[2], 40000, 10000, 800);
    stop("third");
}

/* Each plugin is this program again, as a library. The second one has the first one's addresses, most likely. */
static void plugins(int count, char **paths) {
    for (int i = 0; i < count; i++) {
        void *library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) abort();
        void (*work)(void) = (void (*)(void))dlsym(library, "plugin_work");
        work();
        if (dlclose(library) != 0) abort();
    }
}

void plugin_work(void);
SITE void plugin_work(void) {
    for (int i = 0; i < 40000; i++)
        if (malloc(600) == NULL) abort();
}

/* A thread forks while others take samples, many of them of a size that no sample had before. */
static void *busy(void *ended) {
    for (size_t i = 0; !__atomic_load_n((int *)ended, __ATOMIC_RELAXED); i++) free(malloc(300 + i % 20000));
    return NULL;
}

static void crowd(void) {
    static int ended;
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, busy, &ended) != 0) abort();
    for (int i = 0; i < 10; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            site_child(kept[1], 1000, 1000, 900);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0) abort();
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "plain";
    if (strcmp(what, "plain") == 0) plain();
    else if (strcmp(what, "holes") == 0) holes();
    else if (strcmp(what, "threads") == 0) threads();
    else if (strcmp(what, "fork") == 0) forks(0);
    else if (strcmp(what, "clone") == 0) forks(1);
    else if (strcmp(what, "phases") == 0) phases();
    else if (strcmp(what, "plugins") == 0) plugins(count - 2, arguments + 2);
    else if (strcmp(what, "crowd") == 0) crowd();
    else if (strcmp(what, "killed") == 0) {
        site_kept(kept[0], 50000, 20000, 500);
        raise(SIGKILL);
    } else if (strcmp(what, "exec") == 0) {
        site_first(kept[0], 40000, 10000, 800);
        execl(arguments[0], arguments[0], "killed", NULL);
    } else return 2;
    return 0;
}
