/* guest.c - malloc as a guest in processes that drop rights, shut themselves in, split or have a rhythm of their own.
 *
 * One case a run, by its name. Where a case needs a right that the machine does not give, it is skipped.
 */
#include "guest_filters.h"
#include "guest_threads.h"
#include "tiers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MB ((size_t)1 << 20)

enum { NOBODY = 65534 };

/* Frees so much that something waits to be given back. */
static void use_objects(size_t bytes, size_t size) {
    enum { MOST = 20000 };
    static char *objects[MOST];
    size_t count = bytes / size < MOST ? bytes / size : MOST;
    for (size_t i = 0; i < count; i++) {
        objects[i] = malloc(size);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, size);
    }
    for (size_t i = 0; i < count; i++) free(objects[i]);
}

static void use(size_t bytes) {
    use_objects(bytes, 20000);
}

/* Also in the hardened build, where large objects go back at once, but slabs do not. */
static void use_slabs(size_t bytes) {
    use_objects(bytes, 2000);
}

static void *wait_to_work(void *unused) {
    pthread_barrier_wait(&together);
    tiers_work(1);
    pthread_barrier_wait(&together);
    return unused;
}

static void *wait_work_and_wait(void *unused) {
    pthread_barrier_wait(&together);
    wait_to_work(unused);
    pthread_barrier_wait(&together); /* no other thread comes */
    return unused;
}

static void need_root(void) {
    if (getuid() != 0) check_skip("needs to be root");
}

static void drop_user(void) {
    CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

/* --- rights: no thread has any that the program has given up */

static void check_rights_are_gone(void) {
    pid_t numbers[MOST_THREADS];
    unsigned count = threads(numbers);
    for (unsigned i = 0; i < count; i++) {
        CHECK(status(numbers[i], "CapEff:", 16) == 0 && status(numbers[i], "CapPrm:", 16) == 0);
        if (status(numbers[i], "Uid:", 10) == NOBODY) continue;
        CHECK(status(numbers[i], "NoNewPrivs:", 10) == 1 && status(numbers[i], "Seccomp:", 10) == 2);
    }
}

static void setuid_with_threads(void) {
    need_root();
    make_sleeper();
    use(8 * MB);
    await_reclaimer();
    drop_user();
    check_rights_are_gone();
}

/* Each thread that is not the program's has shut itself in. */
static void check_others_are_confined(void) {
    pid_t numbers[MOST_THREADS];
    unsigned count = threads(numbers), confined = 0;
    for (unsigned i = 0; i < count; i++)
        confined += is_reclaimer(numbers[i]) && status(numbers[i], "CapPrm:", 16) == 0 &&
                    status(numbers[i], "Seccomp:", 10) == 2;
    CHECK(count == of_program + confined);
}

/* The program's first thread comes while it is another user for a while only. */
static void seteuid_for_a_while(void) {
    need_root();
    CHECK(seteuid(NOBODY) == 0);
    make_sleeper();
    use(8 * MB);
    await_reclaimer();
    check_others_are_confined();
    CHECK(seteuid(0) == 0);
    drop_user();
    check_rights_are_gone();
}

/* The program is another user for good, but has kept the capabilities, which it may give up later. */
static void capabilities_kept(void) {
    need_root();
    CHECK(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
    drop_user();
    make_sleeper();
    use(8 * MB);
    await_reclaimer();
    check_others_are_confined();
}

/* A Zygote: its child becomes an app. */
static void zygote(void) {
    need_root();
    use(8 * MB);
    pid_t child = fork();
    if (child == 0) {
        pid_t numbers[MOST_THREADS];
        use(MB);
        drop_user();
        use(8 * MB);
        await_reclaimer();
        unsigned count = threads(numbers);
        for (unsigned i = 0; i < count; i++) CHECK(status(numbers[i], "Uid:", 10) == NOBODY);
        _exit(0);
    }
    int result;
    CHECK(waitpid(child, &result, 0) == child && result == 0);
}

#if defined(__x86_64__)
static volatile long opened, taken_over;
static char secret[64];

static long bare_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

__attribute__((noreturn)) static void with_borrowed_rights(void) {
    opened = bare_call(SYS_open, (long)secret, O_RDONLY, 0);
    taken_over = 1;
    for (;;) bare_call(SYS_madvise, 0, 0, 0);
}

/* Which addresses are the library's text, and the 28 KB behind a page that no thread may touch: its thread's stack. */
static bool find(uintptr_t text[2], uintptr_t stack[2]) {
    char line[512], rights[8];
    uintptr_t from, to, before = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    text[0] = stack[0] = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        CHECK(sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3);
        if (strstr(line, "libjwmalloc") && strchr(rights, 'x')) text[0] = from, text[1] = to;
        if (before == from && rights[1] == 'w' && to - from == 28672) stack[0] = from, stack[1] = to;
        before = rights[0] == '-' && to - from == 4096 ? to : 0;
    }
    fclose(file);
    return text[0] && stack[0];
}

/* After the rights are dropped the program's own code replaces every return address on the stack of the library's
 * thread: what that can open, the program can. */
static void takeover(void) {
    uintptr_t text[2], stack[2];
    need_root();
    strcpy(secret, "/tmp/jwmalloc-guest-XXXXXX");
    int file = mkstemp(secret);
    CHECK(file >= 0 && fchmod(file, 0600) == 0 && close(file) == 0);
    make_sleeper();
    use_slabs(8 * MB); /* so the thread stays for some rounds */
    await_reclaimer();
    if (!find(text, stack)) {
        unlink(secret);
        check_skip("the library's thread is not where it was");
    }
    drop_user();
    for (uintptr_t *word = (uintptr_t *)stack[0]; word < (uintptr_t *)stack[1]; word++)
        if (*word > text[0] && *word < text[1]) *word = (uintptr_t)with_borrowed_rights;
    for (int i = 0; i < 100 && !taken_over; i++) {
        use_slabs(8 * MB); /* wakes it */
        usleep(20000);
    }
    printf("taken over: %ld, open: %ld\n", taken_over, opened);
    CHECK(taken_over && opened == -EPERM);
    _exit(0);
}
#endif

/* --- sandboxes: what is allowed suffices */

static const long memory_calls[] = {SYS_mmap,   SYS_munmap, SYS_madvise,    SYS_mprotect,
                                    SYS_mremap, SYS_futex,  SYS_exit_group, SYS_write};

static void whitelist(void) {
    filter_other_calls(memory_calls, sizeof memory_calls / sizeof *memory_calls, 0);
    for (uint64_t i = 0; i < 50; i++) tiers_work(i);
    use(200 * MB);
    malloc_trim(0);
    tiers_work(1);
    _exit(0);
}

static bool library_is_loaded(void) {
    char line[512];
    bool loaded = getenv("LD_PRELOAD") == NULL;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && !loaded && fgets(line, sizeof line, file) != NULL)
        loaded = strstr(line, "libjwmalloc") != NULL;
    if (file != NULL) fclose(file);
    return loaded;
}

/* Starts the program anew as an ordinary user's. */
static void become_ordinary(const char *name) {
    if (getuid() == 0) {
        drop_user();
        execl("/proc/self/exe", "guest", name, (char *)NULL);
        check_skip("another user may not run this program");
    }
    if (!library_is_loaded()) check_skip("another user may not read the library");
}

/* Threads that are there before a filter is put on all of them at once, and allocate for the first time afterwards. */
static void whitelist_for_threads(void) {
    enum { WORKERS = 4 };
    become_ordinary("whitelist_threads");
    pthread_t workers[WORKERS];
    pthread_barrier_init(&together, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++) CHECK(pthread_create(&workers[i], NULL, wait_work_and_wait, NULL) == 0);
    pthread_barrier_wait(&together); /* all have begun: that takes other calls */
    filter_other_calls(memory_calls, sizeof memory_calls / sizeof *memory_calls, SECCOMP_FILTER_FLAG_TSYNC);
    pthread_barrier_wait(&together);
    use(200 * MB);
    pthread_barrier_wait(&together);
    _exit(0); /* before the workers end, which takes other calls */
}

static void unshare_works(void) {
    use(8 * MB);
    if (unshare(CLONE_NEWUSER) == 0) return;
    CHECK(errno != EINVAL);
    check_skip("no user namespaces here");
}

static void *never_allocate(void *unused) {
    return unused;
}

/* The program had threads, and has them no more. */
static void unshare_after_threads(void) {
    pthread_t thread;
    use(8 * MB);
    for (int i = 0; i < 10; i++) {
        pthread_barrier_init(&together, NULL, 1);
        void *(*body)(void *) = i % 2 == 0 ? wait_to_work : never_allocate;
        CHECK(pthread_create(&thread, NULL, body, NULL) == 0 && pthread_join(thread, NULL) == 0);
        use(8 * MB);
    }
    /* a thread is joined a little before the kernel has seen it off, on any malloc */
    for (int i = 0; i < 20; i++) {
        if (unshare(CLONE_NEWUSER) == 0) return;
        if (errno != EINVAL) break;
        usleep(10000);
    }
    unshare_works();
}

static void clone_flags(void) {
    filter_new_clones();
    use(8 * MB);
    make_sleeper();
    use(200 * MB);
    await_reclaimer();
}

/* --- the kernel's attributes of a thread */

static void *work_in_real_time(void *unused) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    struct sched_param high = {.sched_priority = 50};
    if (sched_setaffinity(0, sizeof first, &first) != 0 || sched_setscheduler(0, SCHED_FIFO, &high) != 0)
        check_skip("no real-time priorities here");
    make_sleeper();
    use(8 * MB);
    await_reclaimer();
    pid_t numbers[MOST_THREADS], self = (pid_t)syscall(SYS_gettid);
    cpu_set_t processors;
    unsigned count = threads(numbers), ours = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!is_reclaimer(numbers[i])) continue;
        ours++;
        CHECK(sched_getscheduler(numbers[i]) == SCHED_OTHER);
        CHECK(sched_getaffinity(numbers[i], sizeof processors, &processors) == 0);
        CHECK(CPU_COUNT(&processors) == sysconf(_SC_NPROCESSORS_ONLN));
    }
    CHECK(sched_getscheduler(self) == SCHED_FIFO && ours <= 1);
    return unused;
}

static void real_time(void) {
    pthread_t thread;
    of_program++;
    CHECK(pthread_create(&thread, NULL, work_in_real_time, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static unsigned threads_of_real_time(void) {
    pid_t numbers[MOST_THREADS];
    unsigned count = threads(numbers), real = 0;
    for (unsigned i = 0; i < count; i++) real += sched_getscheduler(numbers[i]) == SCHED_FIFO;
    return real;
}

/* A server that started as root keeps its priority when it becomes another user; our thread does not. */
static void real_time_dropped(void) {
    struct sched_param high = {.sched_priority = 50};
    need_root();
    if (sched_setscheduler(0, SCHED_FIFO, &high) != 0) check_skip("no real-time priorities here");
    drop_user();
    start_sleeper();
    AWAIT(threads_of_real_time() == of_program);
}

/* --- children that libc does not know of */

static void use_and_wait(size_t most) {
    size_t before = resident_bytes();
    use(200 * MB);
    AWAIT(resident_bytes() <= before + most);
}

static void raw_clone(void) {
    use(8 * MB);
    make_sleeper();
    use(8 * MB);
    await_reclaimer();
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        use_and_wait(16 * MB);
        _exit(0);
    }
    int result;
    CHECK(child > 0 && waitpid(child, &result, 0) == child && result == 0);
}

static void free_after_vfork(void) {
    char *object = malloc(300000);
    memset(object, 1, 300000);
    pid_t child = vfork();
    if (child == 0) {
        free(object);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    int result;
    CHECK(waitpid(child, &result, 0) == child && result == 0);
    use_and_wait(16 * MB);
}

/* --- pause and resume; the library under test may not have them (the system's malloc) */

extern int jw_reclaim_pause(void) __attribute__((weak));
extern void jw_reclaim_resume(void) __attribute__((weak));

static unsigned thread_count(void) {
    pid_t numbers[MOST_THREADS];
    return threads(numbers);
}

static void *pause_often(void *unused) {
    for (int i = 0; i < 50; i++) {
        CHECK(jw_reclaim_pause() == 0);
        use(MB);
        jw_reclaim_resume();
    }
    note_end();
    return unused;
}

static void pauses(void) {
    pthread_t thread;
    CHECK(jw_reclaim_pause != NULL);
    make_sleeper();
    unsigned before = thread_count();
    CHECK(before == 3);
    CHECK(jw_reclaim_pause() == 0);
    CHECK(thread_count() == 2);
    CHECK(jw_reclaim_pause() == 0);
    use_and_wait(16 * MB);
    CHECK(pthread_create(&thread, NULL, pause_often, NULL) == 0 && pthread_join(thread, NULL) == 0);
    jw_reclaim_resume();
    CHECK(thread_count() == 2);
    jw_reclaim_resume();
    CHECK(thread_count() == 3);
    jw_reclaim_resume();
    for (int i = 0; i < 50; i++) {
        CHECK(jw_reclaim_pause() == 0 && thread_count() == 2);
        jw_reclaim_resume();
        CHECK(thread_count() == 3);
        use(MB);
    }
    CHECK(mallopt(-2001, 0) == 1 && thread_count() == 2);
    CHECK(mallopt(-2001, 1) == 1 && thread_count() == 3 && mallopt(-2001, 2) == 0);
}

static void *pause_in_thread(void *unused) {
    for (int i = 0; i < 100; i++) {
        CHECK(jw_reclaim_pause() == 0);
        free(malloc(100));
        jw_reclaim_resume();
    }
    note_end();
    return unused;
}

/* Threads come and go, and all of them pause. A resume after the last one's end does not start ours. */
static void pauses_among_threads(void) {
    enum { AT_ONCE = 4, TIMES = 20 };
    CHECK(jw_reclaim_pause != NULL);
    for (int time = 0; time < TIMES; time++) {
        pthread_t all[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) CHECK(pthread_create(&all[i], NULL, pause_in_thread, NULL) == 0);
        use(MB);
        if (time % 2) CHECK(jw_reclaim_pause() == 0);
        for (int i = 0; i < AT_ONCE; i++) CHECK(pthread_join(all[i], NULL) == 0);
        if (time % 2) jw_reclaim_resume();
    }
    CHECK(thread_count() == 1 && jw_reclaim_pause() == 0 && thread_count() == 1);
}

static void *allocate_once(void *unused) {
    free(malloc(100));
    return unused;
}

/* A resume without a pause does nothing, also while the library pauses its thread because the last thread ends. */
static void resumes_alone(void) {
    enum { TIMES = 3000, RESUMES = 400 };
    CHECK(jw_reclaim_resume != NULL);
    for (int time = 0; time < TIMES; time++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, allocate_once, NULL) == 0);
        for (int i = 0; i < RESUMES; i++) jw_reclaim_resume();
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"setuid", setuid_with_threads},
    {"seteuid", seteuid_for_a_while},
    {"keepcaps", capabilities_kept},
    {"real_time_dropped", real_time_dropped},
    {"resumes_alone", resumes_alone},
    {"zygote", zygote},
#if defined(__x86_64__)
    {"takeover", takeover},
#endif
    {"whitelist", whitelist},
    {"whitelist_threads", whitelist_for_threads},
    {"unshare", unshare_works},
    {"unshare_after_threads", unshare_after_threads},
    {"clone_flags", clone_flags},
    {"real_time", real_time},
    {"raw_clone", raw_clone},
    {"vfork", free_after_vfork},
    {"pause", pauses},
    {"pause_threads", pauses_among_threads},
};

int main(int count, char **arguments) {
    CHECK(count == 2);
    setbuf(stdout, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(arguments[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    check_skip("not for this processor");
}
