/* stopped_mapping.c - a thread is stopped before or after each mmap at a chosen address, and the others must go on:
 * they find roots, and tables that double for them, whatever the stopped one was about.
 *
 * A seccomp filter of the one thread traps these calls. Its handler waits for main at the chosen one, and makes the
 * call itself: with an offset, which says nothing where no file is mapped, but which the filter lets pass. Each stop is
 * a process of its own.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "check.h"

#if defined(__x86_64__)
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#define ARGUMENT_OF(context, number) (context)->uc_mcontext.gregs[registers[number]]
static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
#elif defined(__aarch64__)
#define RESULT(context) (context)->uc_mcontext.regs[0]
#define ARGUMENT_OF(context, number) (context)->uc_mcontext.regs[number]
#endif

#ifdef RESULT

enum { PLACES = 64, OWN = 24, OTHERS = 60, SMALL = 4000, PAGE = 65536 };
static const size_t size = (size_t)3900 << 10; /* one to a root */

static int stop_at, calls;
static bool stop_after;
static _Atomic(bool) stopped;
static sem_t stopped_or_done;
static int go_on[2]; /* a pipe: a signal handler may wait for it */
static uint64_t *own[OWN], *others[OTHERS];
static char *small[SMALL];

static void map_at(int signal, siginfo_t *information, void *argument) {
    ucontext_t *context = argument;
    bool here = calls++ == stop_at;
    (void)signal, (void)information;
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 1) {
            long result = syscall(SYS_mmap, ARGUMENT_OF(context, 0), ARGUMENT_OF(context, 1), ARGUMENT_OF(context, 2),
                                  ARGUMENT_OF(context, 3), -1, (long)PAGE);
            RESULT(context) = (__typeof__(RESULT(context)))(result == -1 ? -errno : result);
        }
        if (!here || turn != stop_after) continue;
        atomic_store(&stopped, true);
        sem_post(&stopped_or_done);
        CHECK(read(go_on[0], &(char){0}, 1) == 0); /* until the other end is closed */
    }
}

static void trap_mappings(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PAGE, 3, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])), /* an address is given */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        check_skip("the kernel takes no seccomp filter here");
}

static void fill(uint64_t **objects, int count, uint64_t name) {
    for (int i = 0; i < count; i++) {
        CHECK((objects[i] = malloc(size)) != NULL);
        objects[i][0] = objects[i][size / sizeof(uint64_t) - 1] = name + (uint64_t)i;
    }
}

static void empty(uint64_t **objects, int count, uint64_t name) {
    for (int i = 0; i < count; i++) {
        CHECK(objects[i][0] == name + (uint64_t)i && objects[i][size / sizeof(uint64_t) - 1] == name + (uint64_t)i);
        free(objects[i]);
    }
}

static void *be_stopped(void *unused) {
    trap_mappings();
    fill(own, OWN, 1000);
    for (int i = 0; i < 100; i++) free(malloc(100));
    sem_post(&stopped_or_done);
    return unused;
}

/* Ends with 2 when there is no such call. */
static void play(void) {
    struct sigaction action = {.sa_sigaction = map_at, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    CHECK(sigaction(SIGSYS, &action, NULL) == 0 && pipe(go_on) == 0 && sem_init(&stopped_or_done, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, be_stopped, NULL) == 0);
    while (sem_wait(&stopped_or_done) != 0) {
    }
    for (int i = 0; i < SMALL; i++) CHECK((small[i] = malloc(10000)) != NULL);
    fill(others, OTHERS, 2000);
    for (int i = 0; i < SMALL; i++) free(small[i]);
    close(go_on[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    empty(own, OWN, 1000);
    empty(others, OTHERS, 2000);
    _exit(atomic_load(&stopped) ? 0 : 2);
}

int main(void) {
    int stops = 0;
    for (int place = 0, status = 0; place < PLACES * 2 && !(WIFEXITED(status) && WEXITSTATUS(status) == 2); place++) {
        stop_at = place / 2;
        stop_after = place % 2;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) play();
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        if (WEXITSTATUS(status) == SKIPPED) return SKIPPED;
        if (WEXITSTATUS(status) == 1) dprintf(2, "stopped %s call %d\n", stop_after ? "after" : "before", stop_at);
        CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2);
        stops += WEXITSTATUS(status) == 0;
    }
    printf("%d stops\n", stops);
    return 0;
}

#else

int main(void) {
    check_skip("only for 64-bit processors");
}

#endif
