/* fault.c - names faults in the pool; then the program's action for SIGSEGV follows, as for any other fault.
 *
 * The program's handler is kept here, and the kernel has ours, with the flags and the mask that the program asked for:
 * so its handler runs on the stack that it expects. A program that ignores SIGSEGV does so really, because a program
 * after exec inherits this. Handlers that are installed by a system call of the program's own replace ours. */
#include "fault.h"
#include "pool.h"
#include "shared/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

typedef void handler_function(int number);

static struct sigaction program; /* its action; odd versions: being changed */
static _Atomic uint32_t version;
static atomic_flag changing = ATOMIC_FLAG_INIT;
static bool begun;
static pid_t owner;
static int (*next_sigaction)(int number, const struct sigaction *action, struct sigaction *old);

static int kernel_action(int number, const struct sigaction *action, struct sigaction *old) {
    if (next_sigaction == NULL)
        next_sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    return next_sigaction(number, action, old);
}

static struct sigaction program_action(void) {
    for (;;) {
        uint32_t before = atomic_load(&version);
        struct sigaction action = program;
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && atomic_load(&version) == before) return action;
    }
}

static uintptr_t instruction_of(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static const char *access_of(const ucontext_t *context) {
#if defined(__x86_64__)
    return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "write" : "read";
#else
    (void)context;
    return "access";
#endif
}

static void on_fault(int number, siginfo_t *info, void *context);

static int install(const struct sigaction *wanted) {
    struct sigaction ours = *wanted;
    if (wanted->sa_handler == SIG_IGN) return kernel_action(SIGSEGV, wanted, NULL);
    if (wanted->sa_handler == SIG_DFL) {
        memset(&ours, 0, sizeof ours);
        ours.sa_flags = SA_ONSTACK;
    }
    ours.sa_sigaction = on_fault;
    ours.sa_flags = (int)(((unsigned)ours.sa_flags | SA_SIGINFO) & ~(unsigned)SA_RESETHAND);
    return kernel_action(SIGSEGV, &ours, NULL);
}

/* Signals are blocked meanwhile: a handler may call sigaction, too. */
static int change(const struct sigaction *wanted, struct sigaction *old) {
    sigset_t all, before;
    int result = 0;
    if (getpid() != owner) { /* a child of vfork has its own action, and its parent's memory */
        *old = program;
        return wanted != NULL ? kernel_action(SIGSEGV, wanted, NULL) : 0;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (atomic_flag_test_and_set(&changing)) wait_a_moment();
    *old = program;
    if (wanted != NULL) {
        atomic_fetch_add(&version, 1);
        atomic_thread_fence(memory_order_release); /* program_action sees the odd version before the new words */
        program = *wanted;
        atomic_fetch_add(&version, 1);
        result = install(wanted);
    }
    atomic_flag_clear(&changing);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* The signal is sent again with its information: it is delivered when the handler returns, and ends the process. */
static void end_by_default(siginfo_t *info) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    kernel_action(SIGSEGV, &action, NULL);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSEGV, info);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    int error = errno;
    if (info->si_code > 0 && pool_has(info->si_addr))
        pool_name_fault((uintptr_t)info->si_addr, access_of(context), instruction_of(context));
    struct sigaction action = program_action(), old;
    if (action.sa_handler == SIG_DFL) {
        end_by_default(info);
        errno = error;
        return;
    }
    if (((unsigned)action.sa_flags & SA_RESETHAND) != 0) {
        struct sigaction none;
        memset(&none, 0, sizeof none);
        change(&none, &old);
    }
    errno = error;
    /* A handler without SA_SIGINFO gets the same registers from the kernel. */
    if (action.sa_handler != SIG_IGN) action.sa_sigaction(number, info, context);
}

EXPORTED int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (number != SIGSEGV || !begun) return kernel_action(number, action, old);
    struct sigaction before, wanted;
    if (action != NULL) wanted = *action;
    int result = change(action != NULL ? &wanted : NULL, &before);
    if (old != NULL) *old = before;
    return result;
}

static handler_function *set_handler(int number, handler_function *handler, unsigned flags) {
    struct sigaction wanted, before;
    memset(&wanted, 0, sizeof wanted);
    wanted.sa_handler = handler;
    wanted.sa_flags = (int)flags;
    if (handler == SIG_ERR) errno = EINVAL;
    return handler != SIG_ERR && sigaction(number, &wanted, &before) == 0 ? before.sa_handler : SIG_ERR;
}

/* The C library's own function also knows of siginterrupt. */
#define SIGNAL(name, flags)                                                                                            \
    static handler_function *(*next_##name)(int, handler_function *);                                                  \
    EXPORTED handler_function *name(int number, handler_function *handler);                                            \
    handler_function *name(int number, handler_function *handler) {                                                    \
        if (number == SIGSEGV || next_##name == NULL) return set_handler(number, handler, flags);                      \
        return next_##name(number, handler);                                                                           \
    }
#define FIND(name) next_##name = (handler_function * (*)(int, handler_function *)) dlsym(RTLD_NEXT, #name)
SIGNAL(signal, SA_RESTART)
SIGNAL(bsd_signal, SA_RESTART)
SIGNAL(sysv_signal, SA_RESETHAND | SA_NODEFER)
SIGNAL(__sysv_signal, SA_RESETHAND | SA_NODEFER)

void fault_begin(void) {
    kernel_action(SIGSEGV, NULL, &program);
    owner = getpid();
    FIND(signal);
    FIND(bsd_signal);
    FIND(sysv_signal);
    FIND(__sysv_signal);
    begun = true;
    install(&program);
}

void fault_in_child(void) {
    owner = getpid();
    atomic_flag_clear(&changing);
    if (atomic_load(&version) % 2 != 0) atomic_fetch_add(&version, 1);
}
