/* linux_thread.c - how the reclamation thread starts, sleeps and ends, on Linux.
 *
 * clone itself makes the thread: pthread_create allocates, and may be our caller. The thread has no thread-local
 * storage (the register still points to its creator's). So its code must not use any: no errno, no stack protector,
 * only plain functions of libc. The call and its flags are those of libc's pthread_create: a filter that allows the
 * program's threads allows this one.
 */
#include "base/align.h"
#include "base/compiler.h"
#include "platform/features.h"
#include "platform/linux_call.h"
#include "platform/linux_pages.h"
#include "platform/linux_start.h"
#include "platform/platform.h"
#include "platform/platform_policy.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

enum { CLAIMED = 1 };

/* 0: free; CLAIMED: a starting thread has it; else the number of its thread, which the kernel clears when the thread
 * ends. Zero again in the child of any fork, which has the stacks but not the thread. */
static _Atomic(uint32_t) first_words[STACKS];
static _Atomic(uint32_t) *stack_owners = first_words;

/* The number of a stack's last thread. The kernel clears the one in `stack_owners` a little before the thread has
 * gone. */
static _Atomic(uint32_t) last_numbers[STACKS];

/* The function that the thread runs: the same in every call. */
static _Atomic(uintptr_t) body_to_run;

static void run_body(void) {
    pages_note_thread((uintptr_t)__builtin_frame_address(0));
    for (unsigned stack = 0; stack < STACKS; stack++) {
        uint32_t number = atomic_load_explicit(&stack_owners[stack], memory_order_relaxed);
        if (number > CLAIMED) atomic_store_explicit(&last_numbers[stack], number, memory_order_relaxed);
    }
    ((void (*)(void))atomic_load_explicit(&body_to_run, memory_order_relaxed))();
}

#if PLAIN_THREAD

static void *run_plain(void *word) {
    run_body();
    /* [ST5] release: the thread's work; pairs [ST4]; kept: in builds for sanitizers only */
    atomic_store_explicit((_Atomic(uint32_t) *)word, 0, memory_order_release);
    return NULL;
}

static bool create_thread(unsigned stack) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_plain, &stack_owners[stack]) != 0) return false;
    pthread_detach(thread);
    return true;
}

#else

#define CLONE_FLAGS                                                                                                    \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |                 \
     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static char *lowest_addresses[STACKS]; /* written by the thread that claimed the stack; kept from the first start on */

static char *make_stack(size_t guard, size_t size) {
    char *mapping = platform_reserve(guard + size, guard, "jwmalloc: reclaim stack");
    if (mapping == NULL) return NULL;
    kernel_call(SYS_mprotect, ARGUMENTS(ARGUMENT(mapping), ARGUMENT(guard), PROT_NONE));
    return mapping;
}

/* Calls clone3 if libc does so: a filter may allow exactly the calls of libc. */
static long clone_as_new_libc(const char *stack, size_t size, _Atomic(uint32_t) *word, long tls) {
#if defined(__GLIBC__) && defined(SYS_clone3) && defined(CLONE_ARGS_SIZE_VER0) && __SIZEOF_POINTER__ == 8
    enum { MAJOR = 2, FIRST_MINOR = 34 };
    char *point;
    long major = strtol(gnu_get_libc_version(), &point, 10);
    if (major < MAJOR || (major == MAJOR && (*point == '\0' || strtol(point + 1, NULL, 10) < FIRST_MINOR)))
        return -ENOSYS;
    struct clone_args wanted = {.flags = CLONE_FLAGS,
                                .child_tid = (uintptr_t)word,
                                .parent_tid = (uintptr_t)word,
                                .stack = (uintptr_t)stack,
                                .stack_size = size,
                                .tls = (uintptr_t)tls};
    const long arguments[5] = {ARGUMENT(&wanted), sizeof wanted};
    return raw_thread(SYS_clone3, arguments, run_body);
#else
    (void)stack, (void)size, (void)word, (void)tls;
    return -ENOSYS;
#endif
}

static bool create_thread(unsigned stack) {
    size_t guard = platform_page_size();
    size_t size = align_up(STACK_SIZE, guard);
    if (lowest_addresses[stack] == NULL) lowest_addresses[stack] = make_stack(guard, size);
    if (lowest_addresses[stack] == NULL) return false;
    long area[4], tls = raw_tls(area);
    atomic_fetch_add_explicit(&linux_calls, 1, memory_order_relaxed);
    long number = clone_as_new_libc(lowest_addresses[stack] + guard, size, &stack_owners[stack], tls);
    if (number == -ENOSYS) {
        const long arguments[5] = CLONE_ARGUMENTS(CLONE_FLAGS, ARGUMENT(lowest_addresses[stack] + guard + size),
                                                  ARGUMENT(&stack_owners[stack]), tls);
        number = raw_thread(SYS_clone, arguments, run_body);
    }
    return number > 0;
}

#endif

/* Returns STACKS if all are busy. */
static unsigned claim_stack(void) {
    unsigned stack = 0;
    for (; stack < STACKS; stack++) {
        uint32_t gone = 0;
        /* [ST2] acquire: the stack's place; the thread has left it, as the kernel cleared the word; pairs [ST3];
         * client reclaim_stack */
        if (atomic_compare_exchange_strong_explicit(&stack_owners[stack], &gone, CLAIMED, memory_order_acquire,
                                                    memory_order_relaxed))
            break;
    }
    return stack;
}

enum platform_start platform_thread_start(void (*body)(void)) {
    if (process_refuses_thread()) return START_REFUSED;
    unsigned stack = claim_stack();
    if (stack == STACKS) return START_TOO_EARLY;
    /* A new thread inherits the mask: with all signals blocked, no handler of the program ever runs on the thread. */
    uint64_t all = UINT64_MAX, before;
    atomic_store_explicit(&body_to_run, (uintptr_t)body, memory_order_relaxed);
    bool started = kernel_call(SYS_rt_sigprocmask,
                               ARGUMENTS(SIG_SETMASK, ARGUMENT(&all), ARGUMENT(&before), KERNEL_SIGNAL_SET)) == 0;
    if (started) {
        started = create_thread(stack);
        kernel_call(SYS_rt_sigprocmask, ARGUMENTS(SIG_SETMASK, ARGUMENT(&before), 0, KERNEL_SIGNAL_SET));
    }
    /* [ST3] release: the stack's place; pairs [ST2]; client reclaim_stack */
    if (!started) atomic_store_explicit(&stack_owners[stack], 0, memory_order_release);
    return started ? START_STARTED : START_REFUSED;
}

static void wait_for_clearing(_Atomic(uint32_t) *word, uint32_t number) {
    long soon[2] = {0, STACK_LEFT_WAIT * 1000000L};
    /* not private, because the kernel's wake is not */
    kernel_call(SYS_futex, ARGUMENTS(ARGUMENT(word), FUTEX_WAIT, ARGUMENT(number), ARGUMENT(soon)));
    /* The kernel wakes one waiter only: the thread that ends, or the one that has made it. */
    if (atomic_load_explicit(word, memory_order_relaxed) != number)
        kernel_call(SYS_futex, ARGUMENTS(ARGUMENT(word), FUTEX_WAKE, INT32_MAX));
}

/* Bounded, since long after the thread's end the kernel may have given its number to a thread of the program. */
static void wait_for_end(unsigned stack) {
    uint32_t number = atomic_load_explicit(&last_numbers[stack], memory_order_relaxed);
    for (int tries = 0; number && tries < THREAD_GONE_TRIES && platform_thread_lives(number); tries++)
        platform_sleep(1);
    atomic_compare_exchange_strong_explicit(&last_numbers[stack], &number, 0, memory_order_relaxed,
                                            memory_order_relaxed);
}

void platform_threads_gone(bool entirely) {
    for (unsigned stack = 0; stack < STACKS; stack++) {
        uint32_t number;
        /* [ST4] acquire: the thread's work, as the kernel cleared the word; pairs [ST5]; kept: the kernel orders the
         * thread's end before the program's next calls */
        while ((number = atomic_load_explicit(&stack_owners[stack], memory_order_acquire)) != 0)
            wait_for_clearing(&stack_owners[stack], number);
        if (entirely) wait_for_end(stack);
    }
}

void threads_forget(void) {
    for (unsigned stack = 0; stack < STACKS; stack++)
        atomic_store_explicit(&stack_owners[stack], 0, memory_order_relaxed);
}

void threads_start(void) {
    _Atomic(uint32_t) *words = platform_forgotten_by_fork(sizeof first_words);
    if (words != NULL) stack_owners = words;
}

void platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    long timeout[2] = {milliseconds / 1000, milliseconds % 1000 * 1000000L}; /* the kernel's old timespec */
    kernel_call(SYS_futex, ARGUMENTS(ARGUMENT(word), FUTEX_WAIT_PRIVATE, ARGUMENT(expected), ARGUMENT(timeout)));
}

void platform_futex_wake(_Atomic(uint32_t) *word) {
    kernel_call(SYS_futex, ARGUMENTS(ARGUMENT(word), FUTEX_WAKE_PRIVATE, INT32_MAX));
}
