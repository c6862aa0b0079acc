/* linux_thread.c - the reclamation thread, thread exit, fork, and sleeping, on Linux.
 *
 * The reclamation thread is made by clone itself: pthread_create allocates, and may be who called us. It has no
 * thread-local storage of its own (the register still points to its creator's), so what runs on it must not use any:
 * no errno, no stack protector, no libc beyond plain functions.
 */
#include "base/compiler.h"
#include "platform/linux_call.h"
#include "platform/platform.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* The guard page's size is the kernel's; 28 KB are left with pages of 4 KB. */
enum { STACK_SIZE = 32 * 1024 };

/* Two, so that the next thread can start while the one before has returned but not left its stack. `busy` is not zero
 * from a start until the kernel has seen the thread off; zero again in a fork's child, which has the stack but not the
 * thread. The rest belongs to who set it. */
static struct stack {
    _Atomic(uint32_t) busy;
    char *lowest; /* kept from the first start on */
} stacks[2];

/* What the thread runs: the same in every call. */
static _Atomic(uintptr_t) thread_body;

static void (*after_fork_in_child)(void);

/* Shown by ps and debuggers instead of the name of the thread that happened to be the creator. */
static void run_named(void) {
    kernel_call(SYS_prctl, ARGUMENTS(PR_SET_NAME, ARGUMENT("jw-reclaim")));
    ((void (*)(void))atomic_load_explicit(&thread_body, memory_order_relaxed))();
}

/* Sanitizers keep their state of a thread in thread-local storage, so theirs must be an ordinary one. The model
 * checker, which uses their instrumentation only, says 0. */
#ifndef PLAIN_THREAD
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PLAIN_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define PLAIN_THREAD 1
#endif
#endif
#endif
#ifndef PLAIN_THREAD
#define PLAIN_THREAD 0
#endif

#if PLAIN_THREAD

static void *run_plain(void *stack) {
    run_named();
    atomic_store_explicit(&((struct stack *)stack)->busy, 0, memory_order_relaxed); /* it had a stack of its own */
    return NULL;
}

static bool create_thread(struct stack *stack) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_plain, stack) != 0) return false;
    pthread_detach(thread);
    return true;
}

#else

static char *make_stack(size_t guard, size_t size) {
    char *lowest = platform_reserve(guard + size, guard, "jwmalloc: reclaim stack");
    if (lowest == NULL) return NULL;
    kernel_call(SYS_mprotect, ARGUMENTS(ARGUMENT(lowest), ARGUMENT(guard), PROT_NONE));
    return lowest;
}

static bool create_thread(struct stack *stack) {
    size_t guard = platform_page_size();
    size_t size = guard < STACK_SIZE ? STACK_SIZE - guard : guard;
    if (stack->lowest == NULL) stack->lowest = make_stack(guard, size);
    if (stack->lowest == NULL) return false;
    long flags =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    atomic_fetch_add_explicit(&linux_calls, 1, memory_order_relaxed);
    return raw_thread(flags, stack->lowest + guard + size, &stack->busy, run_named) > 0;
}

#endif

static struct stack *claim_stack(void) {
    for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        uint32_t gone = 0;
        /* [ST2] acquire: the stack is left, by the kernel's word, and where it is; pairs [ST3]; client
         * reclaim_stack */
        if (atomic_compare_exchange_strong_explicit(&stacks[i].busy, &gone, 1, memory_order_acquire,
                                                    memory_order_relaxed))
            return &stacks[i];
    }
    return NULL;
}

enum platform_start platform_thread_start(void (*body)(void)) {
    struct stack *stack = claim_stack();
    if (stack == NULL) return START_TOO_EARLY;
    /* A new thread inherits the mask: with everything blocked, no handler of the program ever runs on it. */
    uint64_t all = UINT64_MAX, before;
    kernel_call(SYS_rt_sigprocmask, ARGUMENTS(SIG_SETMASK, ARGUMENT(&all), ARGUMENT(&before), KERNEL_SIGNAL_SET));
    atomic_store_explicit(&thread_body, (uintptr_t)body, memory_order_relaxed);
    bool started = create_thread(stack);
    kernel_call(SYS_rt_sigprocmask, ARGUMENTS(SIG_SETMASK, ARGUMENT(&before), 0, KERNEL_SIGNAL_SET));
    /* [ST3] release: where the stack is; pairs [ST2]; client reclaim_stack */
    if (!started) atomic_store_explicit(&stack->busy, 0, memory_order_release);
    return started ? START_STARTED : START_REFUSED;
}

bool platform_on_thread_exit(void (*at_exit)(void *value), void *value) {
    /* The key's number plus one; two threads that come first may both make a key, and one of them drops its own. */
    static _Atomic(uint32_t) shared_key;
    uint32_t key = atomic_load_explicit(&shared_key, memory_order_acquire); /* [KY1] pairs [KY2]; client exit_key */
    if (key == 0) {
        pthread_key_t made;
        if (pthread_key_create(&made, at_exit) != 0) return false;
        /* [KY2] release: the key's making; acquire, when it fails: the other thread's; pairs [KY1] [KY2]; client
         * exit_key */
        if (atomic_compare_exchange_strong_explicit(&shared_key, &key, (uint32_t)made + 1, memory_order_release,
                                                    memory_order_acquire))
            key = (uint32_t)made + 1;
        else pthread_key_delete(made);
    }
    return pthread_setspecific((pthread_key_t)(key - 1), value) == 0;
}

static void child_of_fork(void) {
    for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++) /* there is only this thread */
        atomic_store_explicit(&stacks[i].busy, 0, memory_order_relaxed);
    after_fork_in_child();
}

void platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    after_fork_in_child = child;
    pthread_atfork(prepare, parent, child_of_fork);
}

void platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    long timeout[2] = {milliseconds / 1000, milliseconds % 1000 * 1000000L}; /* the kernel's old timespec */
    kernel_call(SYS_futex, ARGUMENTS(ARGUMENT(word), FUTEX_WAIT_PRIVATE, ARGUMENT(expected), ARGUMENT(timeout)));
}

void platform_futex_wake(_Atomic(uint32_t) *word) {
    kernel_call(SYS_futex, ARGUMENTS(ARGUMENT(word), FUTEX_WAKE_PRIVATE, INT32_MAX));
}
