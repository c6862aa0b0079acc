/* model.c - platform.h for the model checkers (model.h). */
#include "platform/platform.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "config/geometry.h"
#include "platform/assert.h"
#include "platform/misuse.h"
#include "verify/clients/client.h"
#include "verify/platform/model.h"

/* Slots of the window that the arena covers; the first one's number is 0, which no root of ours may have. */
#ifndef MODEL_ROOTS
#define MODEL_ROOTS 4
#endif

/* Bytes for the records' tables and for heaps; in the hardened build also for quarantines. */
#ifndef MODEL_PAGES
#define MODEL_PAGES (JW_SECURE ? 49152 : 12288)
#endif

/* Bytes below the roots for tables that grow where they are; 0: there are none. */
#ifndef MODEL_REGION
#define MODEL_REGION 0
#endif

/* GenMC, where an event costs much, wipes and forbids one word of each granule; all in clients that read such words. */
#ifndef MODEL_STRIDE
#define MODEL_STRIDE (GRANULE_SIZE / sizeof(uint64_t))
#endif

enum { ROOTS_SIZE = MODEL_ROOTS * ROOT_SIZE };
static _Alignas((size_t)1 << JW_WINDOW_SHIFT) uint64_t region[(MODEL_REGION + ROOTS_SIZE) / sizeof(uint64_t)];
static uint64_t *const roots = &region[MODEL_REGION / sizeof(uint64_t)];
static _Atomic(uint32_t) claimed[MODEL_ROOTS];                   /* 0 -> 1: reserve, 1 -> 0: release */
static _Atomic(uint32_t) unmapped[ROOTS_SIZE / GRANULE_SIZE];    /* parts of a claimed root, by their first granule */
static _Atomic(uint32_t) parts[MODEL_REGION / GRANULE_SIZE + 1]; /* of tables, by their first granule: as claimed */
static _Alignas(GRANULE_SIZE) uint64_t pages[MODEL_PAGES / sizeof(uint64_t)];
static _Atomic(size_t) pages_used, pages_unmapped;

int model_reservations_left, model_refusals_left;
_Atomic(int) model_unmaps_refused, model_faults_left, model_misuses_expected;
_Atomic(uint64_t) model_milliseconds;
bool model_waits_end, model_starts_threads, model_keeps_discarded, model_has_parts, model_counts_pages;
void (*_Atomic model_thread_body)(void);

static _Thread_local void (*exit_handler)(void *value);
static _Thread_local void *exit_value;

static unsigned slot_of(const void *address) {
    return (unsigned)(((uintptr_t)address - (uintptr_t)roots) / ROOT_SIZE);
}

static bool in_roots(const void *address) {
    return (uintptr_t)address - (uintptr_t)roots < ROOTS_SIZE;
}

/* Whether the OS refuses this call: both are explored, within the client's bound. */
static bool refused(void) {
    int left = atomic_load_explicit(&model_faults_left, memory_order_relaxed);
    while (left > 0 && checker_choose(2))
        if (atomic_compare_exchange_weak_explicit(&model_faults_left, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Zeroes it by ordinary writes of the calling thread: a thread that reads the memory later must be ordered after. */
static void wipe(void *address, size_t size) {
#ifdef GENMC
    for (size_t i = 0; i < size / sizeof(uint64_t); i += MODEL_STRIDE) ((uint64_t *)address)[i] = 0;
#else
    memset(address, 0, size);
#endif
}

static void forbid(void *address, size_t size) {
#ifdef GENMC
    wipe(address, size);
#else
    checker_forbid(address, size);
#endif
}

static bool claim_slot(unsigned slot) {
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&claimed[slot], &expected, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void unmap_slots(unsigned first, unsigned end) {
    for (unsigned slot = first; slot < end; slot++) atomic_store_explicit(&claimed[slot], 0, memory_order_release);
}

static void map_afresh(void *address, size_t size) {
#ifdef GENMC
    (void)address, (void)size; /* wiped when it was unmapped */
#else
    checker_allow(address, size, true);
#endif
}

static void *reserve_roots(size_t size, size_t alignment) {
    unsigned count = (unsigned)((size + ROOT_SIZE - 1) / ROOT_SIZE), step = (unsigned)(alignment / ROOT_SIZE);
    for (unsigned first = step; first + count <= MODEL_ROOTS; first += step) {
        unsigned slot = first;
        while (slot < first + count && claim_slot(slot)) slot++;
        if (slot < first + count) {
            unmap_slots(first, slot);
            continue;
        }
        char *address = (char *)roots + first * ROOT_SIZE;
        map_afresh(address, count * ROOT_SIZE);
        return address;
    }
    return NULL;
}

static void *reserve_pages(size_t size) {
    size_t at = atomic_fetch_add_explicit(&pages_used, size, memory_order_relaxed);
    assert(at + size <= sizeof pages);
    char *address = (char *)pages + at;
#ifndef GENMC
    wipe(address, size); /* the kernel does it: a thread that finds the memory by a word must be ordered after */
#endif
    return address;
}

/* "jwmalloc: huge": an object, which the kernel puts where it likes. */
static bool is_huge(const char *name) {
    return name[10] == 'h' && name[11] == 'u';
}

void *platform_reserve(size_t size, size_t alignment, const char *name) {
    if (model_refusals_left > 0) {
        model_refusals_left--;
        return NULL;
    }
    if (model_reservations_left == 0) return NULL;
    if (model_reservations_left > 0) model_reservations_left--;
    if (is_huge(name) && alignment < ROOT_SIZE) alignment = ROOT_SIZE;
    return alignment >= ROOT_SIZE ? reserve_roots(size, alignment) : reserve_pages(size);
}

void *platform_reserve_readable(size_t size, const char *name) {
    return platform_reserve(size, GRANULE_SIZE, name);
}

void *platform_reserve_apart(size_t size, const char *name) {
    return platform_reserve(size, GRANULE_SIZE, name);
}

uintptr_t platform_region(size_t size, size_t alignment) {
    (void)size, (void)alignment;
    if (MODEL_REGION) forbid(region, MODEL_REGION);
    return MODEL_REGION ? (uintptr_t)region : 0;
}

/* As the kernel does it under its lock: of two threads one has the mapping, and the other sees all that it did. */
static bool claim_part(void *address, size_t size) {
    _Atomic(uint32_t) *part = &parts[((char *)address - (char *)region) / (ptrdiff_t)GRANULE_SIZE];
    uint32_t expected = 0;
    if (!atomic_compare_exchange_strong_explicit(part, &expected, 1, memory_order_acq_rel, memory_order_acquire))
        return false;
    map_afresh(address, size);
    return true;
}

bool platform_is_mapped(void *address, size_t size) {
    (void)address, (void)size;
    return true;
}

static _Atomic(uint32_t) *unmapped_part(void *address) {
    return &unmapped[((char *)address - (char *)roots) / (ptrdiff_t)GRANULE_SIZE];
}

/* As reserve_at of a whole root, but no thread may try a part that another has mapped again. */
static enum platform_reserved reserve_part(void *address, size_t size) {
    if (refused()) return RESERVE_REFUSED;
    uint32_t was = atomic_exchange_explicit(unmapped_part(address), 0, memory_order_relaxed);
    assert(was);
    map_afresh(address, size);
    return RESERVED;
}

enum platform_reserved platform_reserve_at(void *address, size_t size, bool writes, const char *name) {
    (void)writes, (void)name;
    if (!in_roots(address)) return claim_part(address, size) ? RESERVED : RESERVE_TAKEN;
    if (size < ROOT_SIZE) return reserve_part(address, size);
    if (slot_of(address) >= MODEL_ROOTS) return RESERVE_REFUSED;
    if (!claim_slot(slot_of(address))) return RESERVE_TAKEN;
    map_afresh(address, size);
    return RESERVED;
}

bool platform_protect(void *address, size_t size, bool accessible) {
    (void)address, (void)size, (void)accessible;
    return !refused();
}

wide_bool platform_unmap(void *address, size_t size) {
    if (!in_roots(address)) {
        if (model_counts_pages) atomic_fetch_add_explicit(&pages_unmapped, size, memory_order_relaxed);
        else checker_forbid(address, size); /* for good: no other mapping gets these addresses */
        return true;
    }
    int left = atomic_load_explicit(&model_unmaps_refused, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&model_unmaps_refused, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return false;
    if (refused()) return false;
    forbid(address, size);
    if (model_has_parts && size < ROOT_SIZE) atomic_store_explicit(unmapped_part(address), 1, memory_order_relaxed);
    else unmap_slots(slot_of(address), slot_of((char *)address + size - 1) + 1);
    return true;
}

wide_bool platform_discard(void *address, size_t size) {
    if (in_roots(address)) {
        if (refused()) return false;
        if (!model_keeps_discarded) wipe(address, size);
        return true;
    }
    /* records: others may be looking at them */
    for (size_t i = 0; i < size / sizeof(uint32_t); i++)
        atomic_store_explicit(&((_Atomic(uint32_t) *)address)[i], 0, memory_order_relaxed);
    return true;
}

bool platform_resize(void *address, size_t old_size, size_t new_size) {
    if (refused()) return false;
    unsigned old_end = slot_of((char *)address + old_size - 1) + 1, end = slot_of((char *)address + new_size - 1) + 1;
    for (unsigned slot = old_end; slot < end; slot++) {
        if (slot < MODEL_ROOTS && claim_slot(slot)) continue;
        unmap_slots(old_end, slot);
        return false;
    }
    if (new_size < old_size) forbid((char *)address + new_size, old_size - new_size);
    else map_afresh((char *)address + old_size, new_size - old_size);
    unmap_slots(end, old_end);
    return true;
}

/* Unmaps at once, whatever a client refuses: the kernel does it as a part of another call. */
static void unmap(void *address, size_t size) {
    forbid(address, size);
    unmap_slots(slot_of(address), slot_of((char *)address + size - 1) + 1);
}

enum platform_moved platform_move(void *from, void *to, size_t size, size_t room) {
    if (refused()) {
        if (checker_choose(2)) return MOVE_REFUSED;
        unmap(to, room);
        return MOVE_LOST_TARGET;
    }
    copy_filled(to, from, size, GRANULE_SIZE);
    unmap(from, size);
    return MOVED;
}

wide_bool platform_on_thread_exit(void (*at_exit)(void *value), void *value) {
    exit_handler = at_exit;
    exit_value = value;
    return true;
}

void model_thread_exit(void) {
    while (exit_handler) {
        void (*handler)(void *value) = exit_handler;
        exit_handler = NULL;
        handler(exit_value);
    }
}

enum platform_start platform_thread_start(void (*body)(void)) {
    if (!model_starts_threads) return START_REFUSED;
    if (refused()) return checker_choose(2) ? START_REFUSED : START_TOO_EARLY;
    /* release: what the starting thread has done; a kernel's clone orders it, too */
    atomic_store_explicit(&model_thread_body, body, memory_order_release);
    return START_STARTED;
}

bool platform_thread_confine(bool always) {
    (void)always;
    return true;
}

void platform_threads_gone(bool entirely) {
    (void)entirely;
}

void platform_start(void) {
}

void *platform_forgotten_by_fork(size_t size) {
    (void)size;
    return NULL;
}

wide_bool platform_in_borrowed_memory(void) {
    return false;
}

void platform_read_rights(void) {
}

bool platform_allows_thread(void) {
    return true;
}

/* For each hash of words: | 31 the process ends | 30..0 wakings |. The kernel compares the word and puts the thread to
 * sleep under a lock that a waking takes, too: here the changes of this word are in one order. A waking before the
 * waiting thread's change makes the new word visible to it; one that comes after it ends the wait. */
static _Atomic(uint32_t) wakings[16];
#define ENDS 0x80000000u

#define WAKINGS_OF(word) (&wakings[(uintptr_t)(word) / sizeof *(word) % 16])

static void sleep_until_woken(const _Atomic(uint32_t) *word, uint32_t expected) {
    _Atomic(uint32_t) *of_word = WAKINGS_OF(word);
    uint32_t before = atomic_fetch_add_explicit(of_word, 0, memory_order_acquire), now = before;
    if (atomic_load_explicit(word, memory_order_relaxed) != expected) return;
#ifdef MODEL_AS_GENMC
    if (!(now & ENDS)) now = atomic_load_explicit(of_word, memory_order_acquire);
    __VERIFIER_assume(now != before || now & ENDS);
#else
    while (!(now & ENDS) && (now = atomic_load_explicit(of_word, memory_order_acquire)) == before) sched_yield();
#endif
    if (now & ENDS) pthread_exit(NULL);
}

void platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    if (milliseconds == UINT32_MAX) return sleep_until_woken(word, expected);
    if (model_waits_end) return;
#ifdef MODEL_AS_GENMC
    __VERIFIER_assume(atomic_load_explicit(word, memory_order_relaxed) != expected);
#else
    if (atomic_load_explicit(word, memory_order_relaxed) == expected) sched_yield();
#endif
}

void platform_futex_wake(_Atomic(uint32_t) *word) {
    atomic_fetch_add_explicit(WAKINGS_OF(word), 1, memory_order_release);
}

void model_ends(void) {
    for (unsigned i = 0; i < 16; i++) atomic_fetch_or_explicit(&wakings[i], ENDS, memory_order_release);
}

void model_await_unmap(const void *root) {
#ifdef MODEL_AS_GENMC
    __VERIFIER_assume(atomic_load_explicit(&claimed[slot_of(root)], memory_order_acquire) == 0);
#else
    while (atomic_load_explicit(&claimed[slot_of(root)], memory_order_acquire) != 0) sched_yield();
#endif
}

unsigned model_reserved_roots(void) {
    unsigned count = 0;
    for (unsigned slot = 0; slot < MODEL_ROOTS; slot++)
        count += atomic_load_explicit(&claimed[slot], memory_order_relaxed);
    return count;
}

size_t model_mapped_pages(void) {
    return atomic_load_explicit(&pages_used, memory_order_relaxed) -
           atomic_load_explicit(&pages_unmapped, memory_order_relaxed);
}

size_t platform_page_size(void) {
    return GRANULE_SIZE;
}

size_t platform_address_limit(void) {
    return SIZE_MAX;
}

uint64_t platform_milliseconds(void) {
    return atomic_load_explicit(&model_milliseconds, memory_order_relaxed);
}

uint64_t platform_microseconds(void) {
    return platform_milliseconds() * 1000;
}

void platform_end_names(void) {
}

void platform_spare_callers(enum platform_spare spare) {
    (void)spare;
}

void platform_watch_group(const char *of_process, const char *root) {
    (void)of_process, (void)root;
}

bool platform_group_memory(struct group_memory *group) {
    (void)group;
    return false;
}

void platform_huge_pages(void *address, size_t size, bool wanted) {
    (void)address, (void)size, (void)wanted;
}

void platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    (void)prepare, (void)parent, (void)child;
}

uint64_t platform_random(void) {
    return MODEL_RANDOM;
}

uint64_t platform_random_place(void) {
    return 0;
}

bool platform_is_privileged(void) {
    return true; /* no environment, no files: a client sets the options it wants */
}

uint32_t platform_thread_id(void) {
    return 1;
}

wide_bool platform_thread_lives(uint32_t number) {
    return number == 1;
}

char **platform_environment(void) {
    return NULL;
}

size_t platform_read_file(const char *path, char *buffer, size_t size) {
    (void)path;
    return size < 12 ? 0 : (size_t)(stpcpy(buffer, "\nThreads:\t1\n") - buffer); /* for a seal, before the threads */
}

void platform_write(const char *text, size_t length) {
    (void)text, (void)length;
}

void platform_abort_message(const char *text, size_t length) {
    (void)text, (void)length;
}

void platform_finish_start(void) {
}

bool platform_call_library(const char *file, const char *name, const void *argument) {
    (void)file, (void)name, (void)argument;
    return false;
}

void platform_keep_output(const char *report) {
    (void)report;
}

_Noreturn void platform_abort(void) {
    abort();
}

uint64_t platform_system_calls(void) {
    return 0;
}

/* A client needs no words about an address. */
void misuse_describes(misuse_describe *describe) {
    (void)describe;
}

/* Nothing is printed here: the checkers show what was broken, and where. */
static _Noreturn void broken(const char *condition, const char *file, int line) {
#ifdef GENMC
    (void)condition, (void)file, (void)line;
    assert(false);
    abort();
#else
    __assert_fail(condition, file, (unsigned)line, __func__);
#endif
}

_Noreturn void misuse(enum misuse kind, const void *address, size_t number) {
    (void)kind, (void)address, (void)number;
    if (atomic_load_explicit(&model_misuses_expected, memory_order_relaxed) > 0) {
        atomic_fetch_sub_explicit(&model_misuses_expected, 1, memory_order_relaxed);
        pthread_exit(NULL);
    }
    broken("no misuse", "", 0);
}

_Noreturn void invariant_broken(const char *condition, const char *file, int line) {
    broken(condition, file, line);
}
