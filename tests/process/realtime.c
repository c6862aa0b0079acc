/* realtime.c CASE - a thread that jw_realtime_reserve has marked makes no system call and no page fault while the
 * reserve suffices; what happens at its limits and ends. The kernel is the judge: it kills the thread for any other
 * call, and counts the faults. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "entry_points.h"
#include "guest_filters.h"

extern int jw_realtime_reserve(size_t) __attribute__((weak));
extern size_t jw_purge(int, unsigned long) __attribute__((weak));
extern int jw_ctl(const char *, void *, size_t *, const void *, size_t) __attribute__((weak));

#define MB ((size_t)1 << 20)

enum { OBJECTS = 600, RING = 64, TIMES = 60000, RESERVE = 48 };

static void *_Atomic ring[RING]; /* objects that the other thread frees */
static atomic_bool over;
static void *objects[OBJECTS], *many_objects[4000];

static long faults(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_minflt + usage.ru_majflt;
}

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Frees the object, or hands it to the other thread. */
static void let_go(void *object, unsigned turn) {
    void *none = NULL;
    if (turn % 2 == 0 || !atomic_compare_exchange_strong(&ring[turn / 2 % RING], &none, object)) free(object);
}

static void *other(void *unused) {
    while (!atomic_load(&over)) {
        for (unsigned i = 0; i < RING; i++) free(atomic_exchange(&ring[i], NULL));
        usleep(100);
    }
    return unused;
}

/* Objects of each tier come and go, about 12 MB at once, at least for that time: rounds come meanwhile. */
static void churn(uint64_t seed, uint64_t least) {
    uint64_t begin = milliseconds();
    for (unsigned i = 0; i < TIMES || milliseconds() - begin < least; i++) {
        size_t slot = random_below(&seed, OBJECTS);
        size_t most = slot % 100 == 0 ? MB : slot % 10 == 0 ? 120000 : slot % 3 == 0 ? 14000 : 2000;
        size_t size = random_below(&seed, most) + 1;
        let_go(objects[slot], i);
        objects[slot] = i % 5 == 0 ? calloc(1, size) : malloc(size);
        CHECK(objects[slot] != NULL);
        memset(objects[slot], (int)slot, size);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        free(objects[i]);
        objects[i] = NULL;
    }
}

static void *run_marked(void *unused) {
    static const long calls[] = {SYS_getrusage,  SYS_write, SYS_exit_group,
#ifdef SYS_newfstatat
                                 SYS_newfstatat, SYS_lseek, /* of dprintf, for a failed check */
#endif
                                 SYS_exit};
    CHECK(jw_realtime_reserve(RESERVE * MB) == 0);
    filter_other_calls(calls, sizeof calls / sizeof *calls, 0);
    long before = faults();
    churn(7, 1000);
    long after = faults();
    if (after != before) dprintf(STDERR_FILENO, "%ld page faults\n", after - before);
    CHECK(after == before);
    _exit(0);
    return unused;
}

/* The first churn is of an ordinary thread: it touches the code and the objects' table. */
static void case_calls(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    churn(1, 0);
    CHECK(pthread_create(&thread, NULL, run_marked, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(false);
}

/* Makes work for rounds. */
static void *busy(void *unused) {
    enum { SEVERAL = 40 };
    static char *several[SEVERAL];
    while (!atomic_load(&over)) {
        for (unsigned i = 0; i < SEVERAL; i++) memset(several[i] = malloc(300000), 1, 300000);
        for (unsigned i = 0; i < SEVERAL; i++) free(several[i]);
        usleep(1000);
    }
    return unused;
}

/* Rounds that come while the reserve is being made leave it alone. */
static void case_slowly(void) {
    enum { MANY = 150 };
    static char *many[MANY];
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
    usleep(50000);
    CHECK(jw_realtime_reserve(160 * MB) == 0);
    long before = faults();
    for (unsigned i = 0; i < MANY; i++) memset(many[i] = malloc(MB), 1, MB);
    CHECK(faults() == before);
    for (unsigned i = 0; i < MANY; i++) free(many[i]);
    atomic_store(&over, true);
    CHECK(pthread_join(thread, NULL) == 0);
}

static size_t statistic(const char *name) {
    size_t value = 0, size = sizeof value;
    CHECK(jw_ctl(name, &value, &size, NULL, 0) == 0);
    return value;
}

static size_t resident(void) {
    size_t all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%zu %zu", &all, &pages) == 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Beyond its size a marked thread gets ordinary memory. What it frees of the reserve is there again. */
static void case_exhausted(void) {
    enum { MANY = 64 };
    char *many[MANY];
    CHECK(jw_realtime_reserve(8 * MB) == 0);
    for (unsigned times = 0; times < 3; times++) {
        for (unsigned i = 0; i < MANY; i++) CHECK((many[i] = malloc(MB / 2)) != NULL);
        for (unsigned i = 0; i < MANY; i++) memset(many[i], 1, MB / 2);
        for (unsigned i = 0; i < MANY; i++) free(many[i]);
    }
    churn(3, 0);
    malloc_trim(0);
    long before = faults();
    for (unsigned i = 0; i < 4; i++) memset(many[i] = malloc(MB / 2), 1, MB / 2);
    CHECK(faults() == before);
    for (unsigned i = 0; i < 4; i++) free(many[i]);
}

/* malloc_trim, jw_purge and rounds leave the reserve alone, whose bytes are in use. */
static void case_kept(void) {
    size_t roots = statistic("backend.roots"), committed = statistic("stats.committed"), before = resident();
    CHECK(jw_realtime_reserve(20 * MB - 5) == 0);
    CHECK(statistic("backend.roots") == roots + 5);
    CHECK(statistic("stats.committed") >= committed + 20 * MB);
    free(malloc(MB));
    malloc_trim(0);
    if (jw_purge != NULL) jw_purge(2, -1ul);
    usleep(100000);
    CHECK(resident() >= before + 20 * MB);
    CHECK(jw_realtime_reserve(0) == 0);
    CHECK(statistic("backend.roots") <= roots + 1);
    AWAIT(resident() < before + 5 * MB);
    CHECK(jw_realtime_reserve(0) == 0);
}

static void *marked_for_a_while(void *kept) {
    CHECK(jw_realtime_reserve(12 * MB) == 0 && jw_realtime_reserve(4 * MB) == 0);
    memset(*(void **)kept = malloc(100000), 5, 100000);
    return NULL;
}

/* The thread's end ends its mark; an object that stays can be used and freed. */
static void case_ended(void) {
    size_t before = resident();
    for (unsigned i = 0; i < 5; i++) {
        pthread_t thread;
        char *kept = NULL;
        CHECK(pthread_create(&thread, NULL, marked_for_a_while, &kept) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(kept[0] == 5 && kept[99999] == 5);
        AWAIT(resident() < before + 6 * MB);
        free(kept);
    }
    malloc_trim(0);
}

/* Objects of so many bytes in all are written and freed. */
static void touch_all(size_t bytes) {
    enum { SIZE = 3000 };
    for (size_t i = 0; i < bytes / SIZE; i++) memset(many_objects[i] = malloc(SIZE), 1, SIZE);
    for (size_t i = 0; i < bytes / SIZE; i++) free(many_objects[i]);
}

/* A child has no marked thread: its rounds may take the reserve. It may call again. */
static void case_fork(void) {
    CHECK(jw_realtime_reserve(16 * MB) == 0);
    void *object = malloc(50000);
    pid_t child = fork();
    if (child == 0) {
        CHECK(jw_realtime_reserve(16 * MB) == 0);
        memset(many_objects, 1, sizeof many_objects);
        touch_all(MB); /* a child has no pages of code until it runs it */
        long before = faults();
        touch_all(8 * MB); /* nothing that would be copied from the parent */
        CHECK(faults() == before);
        CHECK(jw_realtime_reserve(0) == 0);
        free(object);
        size_t roots = statistic("backend.roots");
        malloc_trim(0);
        CHECK(statistic("backend.roots") < roots);
        CHECK(jw_realtime_reserve(16 * MB) == 0);
        churn(5, 0);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    churn(6, 0);
    free(object);
}

/* Nothing is marked where there is no memory. */
static void case_refused(void) {
    size_t limit = statistic("stats.committed") + 10 * MB, roots = statistic("backend.roots");
    errno = 0;
    CHECK(jw_realtime_reserve(SIZE_MAX) == -1 && errno == ENOMEM);
    CHECK(jw_ctl("opt.limit_hard", NULL, NULL, &limit, sizeof limit) == 0);
    errno = 0;
    CHECK(jw_realtime_reserve(64 * MB) == -1 && errno == ENOMEM);
    CHECK(statistic("backend.roots") == roots);
    limit = 0;
    CHECK(jw_ctl("opt.limit_hard", NULL, NULL, &limit, sizeof limit) == 0);
    churn(2, 0);
}

/* Locked pages cannot be given back; the reserve serves all the same, and its roots go when it ends. */
static void case_locked(void) {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) check_skip("no pages may be locked here");
    CHECK(jw_realtime_reserve(8 * MB) == 0);
    churn(4, 0);
    CHECK(jw_realtime_reserve(0) == 0);
    churn(4, 0);
    malloc_trim(0);
}

/* What the hardened build says; nothing changes. */
static void case_absent(void) {
    size_t roots = statistic("backend.roots");
    for (size_t size = 0; size <= 8 * MB; size += 4 * MB) {
        errno = 0;
        CHECK(jw_realtime_reserve(size) == -1 && errno == ENOTSUP);
    }
    CHECK(statistic("backend.roots") == roots);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"calls", case_calls},     {"slowly", case_slowly}, {"exhausted", case_exhausted},
                 {"kept", case_kept},       {"ended", case_ended},   {"fork", case_fork},
                 {"refused", case_refused}, {"locked", case_locked}, {"absent", case_absent}};
    if (jw_realtime_reserve == NULL) check_skip("another allocator");
    CHECK(argc == 2);
    void *volatile first = malloc(1);
    free(first);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    CHECK(false);
}
