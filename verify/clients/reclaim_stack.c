/* reclaim_stack - reclamation threads are started on two stacks, while another start is refused by the kernel.
 *
 * bound     2 threads, 2 starts and 1 that is refused; a new thread finds on its stack what it runs, and the kernel's
 *           last act for it is to clear the stack's word
 * property  no two threads have a stack at a time; the starting thread sees where the stack is; none is lost
 */
#define _GNU_SOURCE 1
#include "verify/clients/kernel.h"

#include <errno.h>

#include "verify/clients/client.h"

enum { THREADS = 2, MAPPINGS = 2, PAGE = 16 * 1024, MAPPING = 3 * PAGE }; /* a guard, and 28 KB in whole pages */

static _Alignas(PAGE) char mappings[MAPPINGS][MAPPING];
static _Atomic(unsigned) mapped, made;
static pthread_t threads[THREADS];
static _Thread_local bool refused;

struct birth { /* at the stack's upper end */
    void (*body)(void);
    _Atomic(uint32_t) *clear;
};

static void *run_birth(void *stack) {
    struct birth *birth = stack;
    birth->body();
    _Atomic(uint32_t) *clear = birth->clear;
    birth->body = NULL;
    atomic_store_explicit(clear, 0, memory_order_release);
    return NULL;
}

#define CLONE_ARGUMENTS(flags, stack, word, tls)                                                                       \
    { flags, stack, word, word, tls }

static long raw_tls(long area[4]) {
    (void)area;
    return 0;
}

static long raw_thread(long number, const long arguments[5], void (*body)(void)) {
    if (number != SYS_clone) return -ENOSYS;
    if (refused) return -EAGAIN;
    struct birth *birth = (struct birth *)arguments[1] - 1;
    birth->body = body;
    birth->clear = (_Atomic(uint32_t) *)arguments[2];
    threads[atomic_fetch_add_explicit(&made, 1, memory_order_relaxed)] = start(run_birth, birth);
    return 1;
}

#include <gnu/libc-version.h>
#define gnu_get_libc_version() "2.30" /* the checker knows no memory of libc's */
#define PLAIN_THREAD 0
#include "platform/linux_thread.c"

_Atomic(size_t) linux_calls;

void pages_note_thread(uintptr_t frame) {
    (void)frame;
}

static long kernel_call(long number, const long arguments[ARGUMENTS_MAX]) {
    (void)number, (void)arguments;
    return 0;
}

size_t platform_page_size(void) {
    return PAGE;
}

void *platform_reserve(size_t size, size_t alignment, const char *name) {
    (void)size, (void)alignment, (void)name;
    unsigned number = atomic_fetch_add_explicit(&mapped, 1, memory_order_relaxed);
    assert(number < MAPPINGS);
    return mappings[number];
}

wide_bool platform_thread_lives(uint32_t number) {
    (void)number;
    return false;
}

bool process_refuses_thread(void) {
    return false;
}

void *platform_forgotten_by_fork(size_t size) {
    (void)size;
    return NULL;
}

static void reclaim(void) {
}

static void *starting(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < THREADS; i++) platform_thread_start(reclaim);
    return NULL;
}

static void *refused_start(void *unused) {
    (void)unused;
    refused = true;
    enum platform_start result = platform_thread_start(reclaim);
    assert(result != START_STARTED);
    return NULL;
}

int main(void) {
    pthread_t a = start(starting, NULL), b = start(refused_start, NULL);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < atomic_load_explicit(&made, memory_order_relaxed); i++) finish(threads[i]);
    for (unsigned i = 0; i < STACKS; i++) assert(atomic_load_explicit(&stack_owners[i], memory_order_relaxed) == 0);
    return 0;
}
