/* linux_process.c - the process as a whole on Linux: its rights, what its children forget, the ends of its threads.
 *
 * Questions that need a call which a sandbox may forbid are asked before main, and the answers are kept.
 */
#include "base/align.h"
#include "base/compiler.h"
#include "platform/host.h"
#include "platform/linux_call.h"
#include "platform/linux_pages.h"
#include "platform/linux_start.h"
#include "platform/platform.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static char *forgotten;
static size_t forgotten_used;
static _Atomic(uint32_t) no_process, *process = &no_process;

void *platform_forgotten_by_fork(size_t size) {
    size_t page = platform_page_size(), from = forgotten_used;
    if (forgotten == NULL || size > page - from) return NULL;
    forgotten_used += align_up(size, sizeof(uint64_t));
    return forgotten + from;
}

void process_start(void) {
    size_t page = platform_page_size();
    forgotten = platform_reserve(page, page, "jwmalloc: forgotten by fork");
    if (forgotten != NULL &&
        (!pages_look_at_discard((volatile uint32_t *)forgotten) ||
         kernel_call(SYS_madvise, ARGUMENTS(ARGUMENT(forgotten), ARGUMENT(page), MADV_WIPEONFORK)) != 0)) {
        platform_unmap(forgotten,
                       page); /* only libc's forks can be noticed: before Linux 4.14, and where madvise does nothing */
        forgotten = NULL;
    }
    forgotten_used = 0;
    _Atomic(uint32_t) *word = platform_forgotten_by_fork(sizeof *word);
    if (word != NULL) process = word;
}

void process_forget(void) {
    atomic_store_explicit(process, 0, memory_order_relaxed);
}

wide_bool platform_in_borrowed_memory(void) {
    uint32_t number = (uint32_t)kernel_call(SYS_getpid, ARGUMENTS(0)), before = 0;
    /* relaxed: no other data depends on the number */
    atomic_compare_exchange_strong_explicit(process, &before, number, memory_order_relaxed, memory_order_relaxed);
    return before != 0 && before != number;
}

/* --- what the process may do */

static _Atomic(uint32_t) learnt, privileged, started_as_root, realtime, beside_valgrind; /* booleans */

/* Whether the value of the line "\nCapPrm:\t00..." is not zero; *found: there is such a line. */
static bool has_capabilities(const char *status, bool *found) {
    const char *line = strstr(status, "\nCapPrm:\t");
    *found = line != NULL;
    if (line == NULL) return false;
    line += sizeof "\nCapPrm:\t" - 1;
    return line[strspn(line, "0")] != '\n';
}

/* Valgrind preloads a library of its own into each program. */
static wide_bool is_under_valgrind(void) {
    char **entry = platform_environment();
    while (entry != NULL && *entry != NULL && strncmp(*entry, "LD_PRELOAD=", sizeof "LD_PRELOAD=" - 1) != 0) entry++;
    return entry != NULL && *entry != NULL && strstr(*entry, "/vgpreload_") != NULL;
}

_Static_assert(AT_EUID == AT_UID + 1 && AT_GID == AT_UID + 2 && AT_EGID == AT_UID + 3, "learn_rights() counts");

static void learn_rights(void) {
    unsigned long numbers[4]; /* AT_UID, AT_EUID, AT_GID, AT_EGID */
    for (unsigned i = 0; i < 4; i++) numbers[i] = getauxval(AT_UID + i);
    bool known = true, root = numbers[0] == 0 || numbers[1] == 0;
    bool more = root || numbers[0] != numbers[1] || numbers[2] != numbers[3] || platform_is_privileged();
    if (!more) { /* a service manager may have left capabilities to the process */
        char status[2048];
        status[platform_read_file("/proc/self/status", status, sizeof status - 1)] = '\0';
        more = has_capabilities(status, &known);
    }
    uint64_t limit[2] = {0}; /* soft, hard */
    bool limited = kernel_call(SYS_prlimit64, ARGUMENTS(0, RLIMIT_RTPRIO, 0, ARGUMENT(limit))) == 0;
    atomic_store_explicit(&started_as_root, root, memory_order_relaxed);
    atomic_store_explicit(&privileged, more, memory_order_relaxed);
    atomic_store_explicit(&realtime, more || !limited || limit[1] > 0, memory_order_relaxed);
    atomic_store_explicit(&learnt, known, memory_order_relaxed);
    atomic_store_explicit(&beside_valgrind, is_under_valgrind(), memory_order_relaxed);
}

void platform_read_rights(void) {
    learn_rights();
    platform_in_borrowed_memory(); /* notes the process's number */
    memory_names_end();
}

bool process_refuses_thread(void) {
    return NEAR_LOAD(beside_valgrind);
}

bool platform_allows_thread(void) {
    return NEAR_LOAD(learnt) && !process_refuses_thread();
}

struct rights rights_at_start(void) {
    return (struct rights){
        .any = NEAR_LOAD(privileged), .of_root = NEAR_LOAD(started_as_root), .realtime = NEAR_LOAD(realtime)};
}

/* --- threads of the program */

#if !JW_HOSTED
#include <pthread.h>

wide_bool platform_on_thread_exit(void (*at_exit)(void *value), void *value) {
    /* The key's number plus 1. Two first threads may both make a key: one of them deletes its own. */
    static _Atomic(uint32_t) shared_key;
    /* [KY1] acquire: the making of the key, before its first use; pairs [KY2]; client exit_key */
    uint32_t key = atomic_load_explicit(&shared_key, memory_order_acquire);
    if (key == 0) {
        pthread_key_t made;
        if (pthread_key_create(&made, at_exit) != 0) return false;
        /* [KY2] release: the new key; acquire, on failure: the other thread's key; pairs [KY1] [KY2];
         * client exit_key */
        if (atomic_compare_exchange_strong_explicit(&shared_key, &key, (uint32_t)made + 1, memory_order_release,
                                                    memory_order_acquire))
            key = (uint32_t)made + 1;
        else pthread_key_delete(made);
    }
    return pthread_setspecific((pthread_key_t)(key - 1), value) == 0;
}
#endif
