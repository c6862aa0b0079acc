/* forks.c - processes made in every way, at every time; signal handlers; the end of a process. */
#include "cases.h"

#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/time.h>

extern char **environ;
static atomic_bool stop;

static void *hammer(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    while (!stop) {
        void *object = malloc(random_below(&random, 30000));
        free(object);
    }
    return NULL;
}

static void live(uint64_t seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tiers_work(seed);
    malloc_trim(0);
    tiers_work(seed);
    _exit(0);
}

static void forks_beside_threads(size_t threads, size_t forks) {
    pthread_t others[8];
    for (size_t i = 0; i < threads; i++) CHECK(pthread_create(&others[i], NULL, hammer, (void *)i) == 0);
    for (size_t i = 0; i < forks; i++) {
        pid_t child = fork();
        if (child == 0) live(i);
        expect_child(child);
        tiers_work(i);
    }
    stop = true;
    for (size_t i = 0; i < threads; i++) CHECK(pthread_join(others[i], NULL) == 0);
}

static void *fork_in_thread(void *seed) {
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) live((uint64_t)(uintptr_t)seed);
        expect_child(child);
    }
    return NULL;
}

static void threads_that_fork(size_t threads, size_t unused) {
    (void)unused;
    pthread_t others[8];
    for (size_t i = 0; i < threads; i++) CHECK(pthread_create(&others[i], NULL, fork_in_thread, (void *)i) == 0);
    for (size_t i = 0; i < threads; i++) CHECK(pthread_join(others[i], NULL) == 0);
}

static void children_of_children(size_t depth, size_t unused) {
    (void)unused;
    struct tiers kept;
    tiers_allocate(&kept, depth);
    for (size_t i = 0; i < depth; i++) {
        pid_t child = fork();
        if (child != 0) {
            expect_child(child);
            tiers_free(&kept, depth);
            exit(0);
        }
        tiers_check(&kept, depth);
        tiers_work(i);
    }
    tiers_free(&kept, depth);
}

static void child_has_threads(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    pid_t child = fork();
    if (child == 0) {
        threads_that_fork(4, 0);
        _exit(0);
    }
    expect_child(child);
}

static void at_fork_work(void) {
    tiers_work(9);
}

static void handlers_around_fork(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    for (int i = 0; i < 60; i++) CHECK(pthread_atfork(at_fork_work, at_fork_work, at_fork_work) == 0);
    forks_beside_threads(2, 5);
}

/* --- Handlers */

static volatile sig_atomic_t forked, wanted;

static void fork_in_handler(int signal) {
    (void)signal;
    int before = errno;
    pid_t child = fork();
    if (child == 0) {
        free(malloc(100));
        free(malloc(100000));
        _exit(0);
    }
    expect_child(child);
    forked++;
    errno = before;
}

/* The signal comes while the program computes: then glibc allows it. */
static void handler_forks(size_t threads, size_t forks) {
    pthread_t others[8];
    signal(SIGUSR1, fork_in_handler);
    wanted = (sig_atomic_t)forks;
    for (size_t i = 0; i < threads; i++) CHECK(pthread_create(&others[i], NULL, hammer, (void *)i) == 0);
    while (forked < wanted) {
        raise(SIGUSR1);
        free(malloc(500));
    }
    stop = true;
    for (size_t i = 0; i < threads; i++) CHECK(pthread_join(others[i], NULL) == 0);
}

static sigjmp_buf back;

static void jump_back(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static void handler_jumps(size_t rounds, size_t fault) {
    signal(fault ? SIGSEGV : SIGUSR1, jump_back);
    volatile size_t left = rounds;
    if (sigsetjmp(back, 1) != 0) left--;
    tiers_work(left);
    if (left == 0) return;
    if (fault) *(volatile char *)8 = 1;
    raise(SIGUSR1);
}

static void allocate_in_handler(int signal) {
    (void)signal;
    tiers_work(3);
}

static void handler_on_own_stack(size_t size, size_t unused) {
    (void)unused;
    if (size < (size_t)sysconf(_SC_MINSIGSTKSZ)) size = (size_t)sysconf(_SC_MINSIGSTKSZ);
    stack_t stack = {.ss_sp = malloc(size + 4 * KB), .ss_size = size + 4 * KB};
    struct sigaction action = {.sa_handler = allocate_in_handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 20; i++) raise(SIGUSR1);
}

static volatile sig_atomic_t ticks;

static void tick(int signal) {
    (void)signal;
    ticks++;
}

static void interrupted_by_timer(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    struct itimerval often = {{0, 300}, {0, 300}};
    signal(SIGALRM, tick);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (uint64_t i = 0; ticks < 100; i++) tiers_work(i);
}

/* --- Other ways to start programs */

static pid_t start_true(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return child;
}

static void vforks(size_t count, size_t unused) {
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        struct tiers tiers;
        tiers_allocate(&tiers, i);
        expect_child(start_true());
        tiers_free(&tiers, i);
    }
}

static void spawns(size_t count, size_t unused) {
    (void)unused;
    char name[] = "true", *arguments[] = {name, NULL};
    for (size_t i = 0; i < count; i++) {
        pid_t child;
        posix_spawn_file_actions_t actions;
        CHECK(posix_spawn_file_actions_init(&actions) == 0);
        CHECK(posix_spawn_file_actions_addclose(&actions, 0) == 0);
        CHECK(posix_spawnp(&child, "true", &actions, NULL, arguments, environ) == 0);
        posix_spawn_file_actions_destroy(&actions);
        expect_child(child);
    }
}

static void shell_commands(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    char line[100] = "";
    CHECK(system("exit 3") == 3 << 8);
    FILE *stream = popen("echo 1 2 3", "r");
    CHECK(stream != NULL && fgets(line, sizeof line, stream) != NULL && strcmp(line, "1 2 3\n") == 0);
    CHECK(pclose(stream) == 0);
}

/* --- The end */

static struct tiers kept_to_the_end;

static void last_work(void) {
    tiers_free(&kept_to_the_end, 1);
    tiers_work(2);
    free(malloc(100));
}

static void last_handlers(size_t quick, size_t threads) {
    pthread_t thread;
    tiers_allocate(&kept_to_the_end, 1);
    CHECK((quick ? at_quick_exit : atexit)(last_work) == 0);
    for (size_t i = 0; i < threads; i++) CHECK(pthread_create(&thread, NULL, hammer, NULL) == 0);
    if (quick) quick_exit(0);
    exit(0);
}

static void aborted(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, allocate_in_handler);
        abort();
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

void add_forks(void) {
    for (size_t threads = 0; threads <= 4; threads += 2)
        add("forks beside %zu threads, %zu times", forks_beside_threads, threads, 15);
    add("%zu threads that fork", threads_that_fork, 1, 0);
    add("%zu threads that fork", threads_that_fork, 4, 0);
    add("children of children, %zu deep", children_of_children, 10, 0);
    add("threads that fork in a child", child_has_threads, 0, 0);
    add("handlers around fork", handlers_around_fork, 0, 0);
    add("a handler forks beside %zu threads, %zu times", handler_forks, 0, 20);
    add("a handler forks beside %zu threads, %zu times", handler_forks, 3, 20);
    add("a handler jumps, %zu times", handler_jumps, 50, 0);
    add("a handler of a fault jumps, %zu times", handler_jumps, 50, 1);
    add("a handler on a stack of %zu bytes", handler_on_own_stack, 0, 0);
    add("a handler on a stack of %zu bytes", handler_on_own_stack, 64 * KB, 0);
    add("interrupted by a timer", interrupted_by_timer, 0, 0);
    add("%zu vforks", vforks, 20, 0);
    add("%zu spawns", spawns, 20, 0);
    add("system and popen", shell_commands, 0, 0);
    add("handlers of exit", last_handlers, 0, 0);
    add("handlers of exit beside threads", last_handlers, 0, 3);
    add("handlers of quick_exit", last_handlers, 1, 0);
    add("abort with a handler that allocates", aborted, 0, 0);
}
