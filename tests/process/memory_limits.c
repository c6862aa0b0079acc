/* memory_limits.c - the limits that a program sets while it runs: what is counted is what the kernel charges; above the
 * soft limit little stays cached; beyond the hard one requests fail, after the callback. One case a process. */
#include "limits.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* "": the kernel's view of the process; else the folder of a control group that has only this process. */
static char group[64];

/* Bytes that the group is charged for memory that no file stands behind. */
static size_t charged_to_group(void) {
    char path[128], line[128];
    size_t bytes = 0, value;
    snprintf(path, sizeof path, "%s/memory.stat", group);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "rss %zu", &value) == 1 || sscanf(line, "anon %zu", &value) == 1) bytes = value;
    fclose(file);
    return bytes;
}

static size_t charged(void) {
    return group[0] != '\0' ? charged_to_group() : resident_bytes();
}

/* Both have grown by the same since `before` and `resident`, but for a page here and there. */
static void check_same(size_t before, size_t resident, const char *when, size_t size) {
    double counted = (double)committed() - (double)before, rest = (double)charged() - (double)resident;
    double apart = counted > rest ? counted - rest : rest - counted;
    double most = 0.01 * (rest > 0 ? rest : 0) + 256 * 1024;
    if (resident == 0 || apart <= most) return;
    dprintf(STDERR_FILENO, "objects of %zu, %s: %.0f bytes counted, %.0f charged\n", size, when, counted, rest);
    _exit(1);
}

static void *free_all(void *count) {
    empty(*(size_t *)count);
    return NULL;
}

static void counted_is_charged(void) {
    for (unsigned i = 0; i < SIZES; i++) {
        size_t before = committed(), resident = charged(), count = fill(sizes[i], ROOM * MB);
        check_same(before, resident, "all in use", sizes[i]);
        empty(count);
        check_same(before, resident, "all freed", sizes[i]);
        jw_malloc_trim(0);
        check_same(before, resident, "given back", sizes[i]);
    }
}

/* The same in a control group of its own, where the process may make one. */
static void counted_is_charged_to_group(void) {
    bool old = access("/sys/fs/cgroup/memory/memory.stat", R_OK) == 0;
    char path[128], number[16];
    snprintf(group, sizeof group, "/sys/fs/cgroup/%sjwmalloc-test-%d", old ? "memory/" : "", (int)getpid());
    if (mkdir(group, 0700) != 0) check_skip("no control group can be made");
    snprintf(path, sizeof path, "%s/memory.stat", group);
    int status = access(path, R_OK) == 0 ? 0 : SKIPPED;
    pid_t child = status == 0 ? fork() : -1;
    if (child == 0) {
        snprintf(path, sizeof path, "%s/cgroup.procs", group);
        int file = open(path, O_WRONLY), length = snprintf(number, sizeof number, "%d", (int)getpid());
        if (file < 0 || write(file, number, (size_t)length) != length) _exit(SKIPPED);
        memset(objects, 0, sizeof objects); /* these pages are the child's from now on */
        counted_is_charged();
        _exit(0);
    }
    if (child > 0) waitpid(child, &status, 0);
    rmdir(group);
    _exit(child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : child > 0 ? 1 : status);
}

/* Another thread frees all, and a purge gives back slabs that their owner has not looked at again. */
static void counted_is_charged_asleep(void) {
    free(malloc(1));
    size_t before = committed(), resident = charged(), count = fill(100, ROOM * MB), all = count;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, free_all, &all) == 0 && pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 3; i++) jw_purge(JW_PURGE_THREADS, 1000000);
    CHECK(committed() < before + ROOM * MB / 2);
    check_same(before, resident, "given back by others", 100);
    count = fill(100, ROOM * MB);
    check_same(before, resident, "in use again", 100);
    empty(count);
}

/* Frees leave no more than the limit allows, but for some ranges in the thread's cache. Without the limit 8 MB stay. */
static void soft_limit_keeps_nothing(void) {
    for (unsigned i = 0; i < SIZES; i++) {
        size_t before = committed();
        empty(fill(sizes[i], ROOM * MB));
        CHECK(committed() > before + 4 * MB);
        set("opt.limit_soft", before + 2 * MB);
        size_t count = fill(sizes[i], ROOM * MB);
        empty(count);
        CHECK(committed() < before + 2 * MB + MB / 2 + 2 * sizes[i]);
        set("opt.limit_soft", 0);
        jw_malloc_trim(0);
    }
}

/* Setting a limit below what is in use gives back what sleeping threads keep. */
static pthread_barrier_t slept;

static void *keep_caches(void *unused) {
    enum { CACHED_SIZES = 24, EACH = 16 };
    void *kept[CACHED_SIZES][EACH];
    for (size_t i = 0; i < CACHED_SIZES; i++)
        for (unsigned j = 0; j < EACH; j++) kept[i][j] = touched(malloc(2500 + i * 500));
    pthread_barrier_wait(&slept);
    for (size_t i = 0; i < CACHED_SIZES; i++)
        for (unsigned j = 0; j < EACH; j++) free(kept[i][j]);
    pthread_barrier_wait(&slept);
    pthread_barrier_wait(&slept);
    return unused;
}

static void soft_limit_reaches_sleepers(void) {
    pthread_t threads[8];
    set("opt.reclaim_interval", 60000); /* no round comes by itself */
    pthread_barrier_init(&slept, NULL, 9);
    for (unsigned i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, keep_caches, NULL) == 0);
    pthread_barrier_wait(&slept);
    pthread_barrier_wait(&slept);
    CHECK(committed() > 8 * MB); /* the threads' caches */
    set("opt.limit_soft", 1);
    size_t count = fill(100000, MB);
    AWAIT(committed() < 3 * MB);
    empty(count);
    pthread_barrier_wait(&slept);
    for (unsigned i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}

static void each_call_is_refused(size_t size) {
    errno = 0;
    check_refused(malloc(size));
    check_refused(calloc(1, size));
    check_refused(realloc(NULL, size));
    check_refused(aligned_alloc(64, (size + 63) & ~(size_t)63));
    check_refused(aligned_alloc(65536, size + MB));
    void *unchanged = &unchanged;
    CHECK(posix_memalign(&unchanged, 4096, size + MB) == ENOMEM && unchanged == &unchanged);
    check_refused(realloc(objects[0], malloc_usable_size(objects[0]) + ROOM * MB));
}

static void hard_limit_refuses(void) {
    for (unsigned i = 0; i < SIZES; i++) {
        size_t before = committed(), limit = before + (ROOM - 4) * MB, resident = resident_bytes(), count = 0;
        set("opt.limit_hard", limit);
        for (errno = 0; (objects[count] = touched(malloc(sizes[i]))) != NULL; count++) CHECK(errno == 0);
        CHECK(errno == ENOMEM && committed() <= limit);
        CHECK(committed() + sizes[i] + sizes[i] / 4 + MB > limit);
        CHECK(resident == 0 || resident_bytes() < resident + (ROOM - 3) * MB);
        each_call_is_refused(sizes[i]);
        CHECK(((char *)objects[0])[0] == 1);
        free(objects[--count]); /* what is ours already is served again, for ever */
        for (int again = 0; again < 1000; again++) {
            CHECK((objects[count] = malloc(sizes[i])) != NULL);
            free(objects[count]);
        }
        set("opt.limit_hard", 0);
        void *more = malloc(ROOM * MB);
        CHECK(more != NULL);
        free(more);
        empty(count);
        jw_malloc_trim(0);
    }
}

/* Pages that come back to slabs which others have emptied count, too. */
static void *fill_asleep(void *unused) {
    (void)unused;
    size_t count = fill(64, ROOM * MB);
    pthread_barrier_wait(&slept); /* main frees all, and their pages go back */
    pthread_barrier_wait(&slept);
    size_t limit = word("opt.limit_hard"), resident = resident_bytes(), again = 0;
    while (again < count && (objects[again] = touched(malloc(64))) != NULL) again++;
    CHECK(again < count && errno == ENOMEM && committed() <= limit);
    CHECK(resident == 0 || resident_bytes() < resident + 4 * MB);
    set("opt.limit_hard", 0);
    for (size_t more = again; more < count; more++) CHECK((objects[more] = touched(malloc(64))) != NULL);
    empty(count);
    return (void *)(uintptr_t)count; // NOLINT(performance-no-int-to-ptr)
}

static void hard_limit_counts_given_back(void) {
    pthread_t thread;
    pthread_barrier_init(&slept, NULL, 2);
    CHECK(pthread_create(&thread, NULL, fill_asleep, NULL) == 0);
    pthread_barrier_wait(&slept);
    size_t before = committed();
    for (size_t i = 0; i < MOST && objects[i] != NULL; i++) free(objects[i]);
    jw_malloc_trim(0);
    CHECK(committed() < before - (ROOM - 4) * MB);
    set("opt.limit_hard", committed() + 2 * MB);
    pthread_barrier_wait(&slept);
    CHECK(pthread_join(thread, NULL) == 0);
    jw_malloc_trim(0);
    CHECK(committed() < 4 * MB);
}

static int promise_nothing(size_t size) {
    (void)size;
    calls++;
    return 1;
}

static void callback_gives_memory(void) {
    CHECK(jw_on_limit(give_reserve) == NULL);
    for (unsigned i = 0; i < SIZES; i++) {
        set("opt.limit_hard", committed() + (ROOM - 4) * MB);
        reserve = touched(malloc(8 * MB));
        CHECK(reserve != NULL);
        calls = nested = 0;
        size_t count = 0;
        errno = 0;
        while (calls == 0 && (objects[count] = touched(malloc(sizes[i]))) != NULL) CHECK(errno == 0 && ++count < MOST);
        CHECK(calls == 1 && nested == 1 && reserve == NULL);
        CHECK(asked >= sizes[i] && asked <= 2 * sizes[i] + 16);
        while ((objects[count] = touched(malloc(sizes[i]))) != NULL) CHECK(++count < MOST);
        CHECK(errno == ENOMEM && calls == 2);
        CHECK(jw_on_limit(promise_nothing) == give_reserve);
        calls = 0;
        each_call_is_refused(sizes[i]);
        CHECK(calls >= 6 && calls <= 8);
        calls = 0;
        check_refused(malloc(IMPOSSIBLE_SIZE));
        CHECK(calls == 0);
        CHECK(jw_on_limit(give_reserve) == promise_nothing);
        set("opt.limit_hard", 0);
        empty(count);
        jw_malloc_trim(0);
    }
}

/* A request above the whole limit drives nothing out, and asks nobody. */
static void whole_limit_is_exceeded(void) {
    CHECK(jw_on_limit(promise_nothing) == NULL);
    empty(fill(100000, ROOM * MB));
    size_t before = committed();
    CHECK(before > 4 * MB);
    set("opt.limit_hard", 2 * ROOM * MB);
    for (size_t size = 2 * ROOM * MB + 1; size < SIZE_MAX / 8; size *= 3) {
        errno = 0;
        check_refused(malloc(size));
        check_refused(calloc(1, size));
        check_refused(aligned_alloc(65536, size));
    }
    CHECK(calls == 0 && committed() == before);
}

/* A limit that is set below what is cached gives the cache back at once. */
static void set_limit_gives_back(void) {
    static const char *const names[] = {"opt.limit_soft", "opt.limit_hard"};
    for (unsigned i = 0; i < 2; i++) {
        size_t before = committed();
        empty(fill(100000, ROOM * MB));
        CHECK(committed() > before + 4 * MB);
        set(names[i], before + MB);
        CHECK(committed() < before + MB + MB / 2);
        set(names[i], 0);
    }
}

/* Threads that run into the limit again and again, each with a callback that frees what the thread has. */
static void *run_into_limit(void *seed) {
    enum { KEPT = 200 };
    uint64_t random = (uintptr_t)seed;
    char *kept[KEPT] = {NULL};
    size_t lengths[KEPT] = {0};
    for (unsigned i = 0; i < 20000; i++) {
        unsigned at = (unsigned)random_below(&random, KEPT);
        if (kept[at] != NULL) CHECK(pattern_holds(kept[at], lengths[at], at));
        free(kept[at]);
        lengths[at] = random_below(&random, random_below(&random, 8) ? 3000 : MB);
        kept[at] = malloc(lengths[at]);
        if (kept[at] != NULL) pattern_fill(kept[at], lengths[at], at);
    }
    for (unsigned i = 0; i < KEPT; i++) free(kept[i]);
    return NULL;
}

static void threads_share_limit(void) {
    pthread_t threads[THREADS];
    set("opt.limit_hard", committed() + 12 * MB);
    set("opt.limit_soft", committed() + 8 * MB);
    CHECK(jw_on_limit(promise_nothing) == NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run_into_limit, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(calls > 0);
    jw_malloc_trim(0);
    CHECK(committed() < 4 * MB);
}

int main(int count, char **arguments) {
    static const struct limit_case cases[] = {
        {"charged", counted_is_charged},           {"group", counted_is_charged_to_group},
        {"asleep", counted_is_charged_asleep},     {"soft", soft_limit_keeps_nothing},
        {"sleepers", soft_limit_reaches_sleepers}, {"hard", hard_limit_refuses},
        {"given", hard_limit_counts_given_back},   {"callback", callback_gives_memory},
        {"whole", whole_limit_is_exceeded},        {"set", set_limit_gives_back},
        {"threads", threads_share_limit}};
    return run_case(cases, sizeof cases / sizeof *cases, count == 2 ? arguments[1] : "");
}
