/* fork_in_handler.c - a signal interrupts malloc at any instruction; its handler forks, and both sides go on.
 *
 *   fork_in_handler [FORKS]
 *
 * The C library's own malloc may deadlock on fork() here, so the control run uses _Fork().
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tiers.h"

__attribute__((weak)) pid_t _Fork(void);

static volatile sig_atomic_t is_child, handled;
static atomic_bool stop;
static pthread_t target;

static void fork_here(int signal) {
    (void)signal;
    pid_t child = under_jwmalloc() || _Fork == NULL ? fork() : _Fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        is_child = 1;
        return;
    }
    int status = -1;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    handled++;
}

static void *keep_signalling(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) {
        int before = handled;
        pthread_kill(target, SIGUSR1);
        while (handled == before && !atomic_load(&stop)) usleep(50); /* a handler may not post to this thread */
    }
    return NULL;
}

/* Any interrupted operation is finished first, by the child too: only then may its heap be used. */
static void work(uint64_t seed) {
    enum { COUNT = 60 };
    void *objects[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = random_below(&seed, (size_t)1 << (4 + i % 18)) + 1;
        objects[i] = malloc(size);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, size < 4096 ? size : 4096);
    }
    for (size_t i = 0; i < COUNT; i++) free(objects[i]);
}

int main(int count, char **arguments) {
    int forks = count > 1 ? atoi(arguments[1]) : 500;
    pthread_t signaller;
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    target = pthread_self();
    CHECK(pthread_create(&signaller, NULL, keep_signalling, NULL) == 0);
    for (uint64_t i = 0; handled < forks; i++) {
        work(i);
        if (is_child) {
            tiers_work(i);
            _exit(0);
        }
    }
    atomic_store(&stop, true);
    CHECK(pthread_join(signaller, NULL) == 0);
    return 0;
}
