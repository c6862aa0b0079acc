/* sim.c - the platform contract over a static, zeroed arena: deterministic, without a kernel, and it can refuse.
 *
 * Free space is what lies above the bump mark, plus free blocks in a table of words (first page, page count). A word
 * is taken and put by compare-exchange, so that reservations of racing threads need no lock. Neighbours are joined when
 * a block is put back. Everything outside reservations is always zero.
 */
#define _GNU_SOURCE 1 /* environ */
#include "platform/sim.h"

#include "base/align.h"
#include "base/compiler.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FREE_BLOCKS = 1024, TEXT_MAX = 512, EXIT_ROUNDS = 4 };

static unsigned char arena[JW_SIM_ARENA + JW_SIM_ALIGNMENT];

static _Atomic(uint32_t) mark;                     /* pages below are reserved, or in free_blocks */
static _Atomic(uint64_t) free_blocks[FREE_BLOCKS]; /* first page << 32 | pages; 0: empty */
static _Atomic(uint32_t) reserved_pages, threads, refusable = SIM_ANY;
static _Atomic(int64_t) successes_left = SIM_NEVER;
static _Atomic(uint64_t) refused, clock_now, random_state, calls, operation_time;
static _Atomic(uintptr_t) waiting_body;
static size_t page_size = JW_SIM_PAGE;
static void (*fork_handlers[3])(void), (*abort_hook)(void);
static char last_text[TEXT_MAX];
static const char *file_text;
static bool borrowed_memory;

static _Thread_local struct {
    void (*at_exit)(void *value);
    void *value;
    uint32_t id;
} this_thread;

static unsigned char *arena_base(void) {
    uintptr_t start = (uintptr_t)arena;
    return arena + (-start & (JW_SIM_ALIGNMENT - 1));
}

static bool call_allowed(enum sim_operation operation) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (!(atomic_load_explicit(&refusable, memory_order_relaxed) & operation)) return true;
    int64_t left = atomic_load_explicit(&successes_left, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&successes_left, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    if (left == 0) atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
    return left != 0;
}

static uint32_t block_first(uint64_t block) {
    return (uint32_t)(block >> 32);
}
static uint32_t block_end(uint64_t block) {
    return (uint32_t)(block >> 32) + (uint32_t)block;
}

static bool take_block(_Atomic(uint64_t) *slot, uint64_t block) {
    /* [SM1] acquire: the block was cleared before; pairs [SM2]; kept: this platform is the unit tests' */
    return atomic_compare_exchange_strong_explicit(slot, &block, 0, memory_order_acquire, memory_order_relaxed);
}

/* Puts the free pages [first, end) into the table, joined with the free neighbours found on the way. */
static void put_block(uint32_t first, uint32_t end) {
    if (first == end) return;
    for (unsigned i = 0; i < FREE_BLOCKS; i++) {
        uint64_t block = atomic_load_explicit(&free_blocks[i], memory_order_relaxed);
        if (block == 0 || (block_end(block) != first && block_first(block) != end)) continue;
        if (!take_block(&free_blocks[i], block)) continue;
        if (block_end(block) == first) first = block_first(block);
        else end = block_end(block);
    }
    for (unsigned i = 0; i < FREE_BLOCKS; i++) {
        uint64_t empty = 0;
        /* [SM2] release: the block is cleared; pairs [SM1]; kept: as SM1 */
        if (atomic_compare_exchange_strong_explicit(&free_blocks[i], &empty, (uint64_t)first << 32 | (end - first),
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    abort(); /* a test with so many holes needs a larger table */
}

/* Where an aligned run of `pages` starts in the free pages [first, end); `end` when it does not fit. */
static uint32_t fit_run(uint32_t first, uint32_t end, uint32_t pages, uint32_t alignment) {
    uint32_t start = (uint32_t)align_up(first, alignment);
    return start <= end && end - start >= pages ? start : end;
}

static bool reserve_from_table(uint32_t pages, uint32_t alignment, uint32_t *start) {
    for (unsigned i = 0; i < FREE_BLOCKS; i++) {
        uint64_t block = atomic_load_explicit(&free_blocks[i], memory_order_relaxed);
        if (block == 0) continue;
        uint32_t end = block_end(block);
        *start = fit_run(block_first(block), end, pages, alignment);
        if (*start == end || !take_block(&free_blocks[i], block)) continue;
        put_block(block_first(block), *start);
        put_block(*start + pages, end);
        return true;
    }
    return false;
}

static bool reserve_from_mark(uint32_t pages, uint32_t alignment, uint32_t *start) {
    uint32_t total = (uint32_t)(JW_SIM_ARENA / page_size);
    uint32_t first = atomic_load_explicit(&mark, memory_order_relaxed);
    do {
        *start = fit_run(first, total, pages, alignment);
        if (*start == total) return false;
    } while (!atomic_compare_exchange_weak_explicit(&mark, &first, *start + pages, memory_order_relaxed,
                                                    memory_order_relaxed));
    put_block(first, *start);
    return true;
}

size_t platform_page_size(void) {
    return page_size;
}

size_t platform_address_limit(void) {
    return JW_SIM_ARENA;
}

static void *reserve_deferred(size_t size, size_t alignment) {
    size_t whole = size + (alignment > page_size ? alignment - page_size : 0);
    char *taken = take_deferred(&whole), *start = (char *)align_up((uintptr_t)taken, alignment);
    if (!taken) return NULL;
    unmap_or_defer(taken, (size_t)(start - taken));
    unmap_or_defer(start + size, (size_t)(taken + whole - start) - size);
    return start;
}

void *platform_reserve(size_t size, size_t alignment, const char *name) {
    (void)name;
    if (!call_allowed(SIM_RESERVE)) return reserve_deferred(size, alignment);
    uint32_t pages = (uint32_t)(size / page_size), start;
    uint32_t aligned = alignment < page_size ? 1 : (uint32_t)(alignment / page_size);
    if (size > JW_SIM_ARENA || alignment > JW_SIM_ALIGNMENT) return NULL;
    if (!reserve_from_table(pages, aligned, &start) && !reserve_from_mark(pages, aligned, &start)) return NULL;
    atomic_fetch_add_explicit(&reserved_pages, pages, memory_order_relaxed);
    return arena_base() + start * page_size;
}

void *platform_reserve_readable(size_t size, const char *name) {
    return platform_reserve(size, page_size, name);
}

void *platform_reserve_apart(size_t size, const char *name) {
    return platform_reserve(size, page_size, name);
}

uintptr_t platform_region(size_t size, size_t alignment) {
    (void)size, (void)alignment;
    return 0;
}

enum platform_reserved platform_reserve_at(void *address, size_t size, bool writes, const char *name) {
    (void)writes, (void)name;
    if (!call_allowed(SIM_RESERVE)) return RESERVE_REFUSED;
    uint32_t first = (uint32_t)((size_t)((unsigned char *)address - arena_base()) / page_size);
    uint32_t end = first + (uint32_t)(size / page_size);
    for (unsigned i = 0; i < FREE_BLOCKS; i++) {
        uint64_t block = atomic_load_explicit(&free_blocks[i], memory_order_relaxed);
        if (first < block_first(block) || end > block_end(block) || !take_block(&free_blocks[i], block)) continue;
        put_block(block_first(block), first);
        put_block(end, block_end(block));
        atomic_fetch_add_explicit(&reserved_pages, end - first, memory_order_relaxed);
        return RESERVED;
    }
    return RESERVE_TAKEN;
}

struct group_memory sim_group = {SIZE_MAX, SIZE_MAX, 0};

void platform_spare_callers(enum platform_spare spare) {
    (void)spare;
}

uint64_t platform_callers_calls(void) {
    return 0;
}

bool platform_is_mapped(void *address, size_t size) {
    (void)address, (void)size;
    return true;
}

bool platform_protect(void *address, size_t size, bool accessible) {
    (void)address, (void)size, (void)accessible;
    return call_allowed(SIM_PROTECT);
}

static void unmap_arena_pages(void *address, size_t size) {
    uint32_t first = (uint32_t)((size_t)((unsigned char *)address - arena_base()) / page_size);
    memset(address, 0, size);
    atomic_fetch_sub_explicit(&reserved_pages, (uint32_t)(size / page_size), memory_order_relaxed);
    put_block(first, first + (uint32_t)(size / page_size));
}

wide_bool platform_unmap(void *address, size_t size) {
    if (!call_allowed(SIM_UNMAP)) return false;
    unmap_arena_pages(address, size);
    return true;
}

wide_bool platform_discard(void *address, size_t size) {
    if (!call_allowed(SIM_DISCARD)) return false;
    uintptr_t from = align_up((uintptr_t)address, page_size);
    uintptr_t to = align_down((uintptr_t)address + size, page_size);
    if (from < to) memset((void *)from, 0, to - from);
    return true;
}

/* A mapping can only become smaller, as if the place above it were always taken. */
bool platform_resize(void *address, size_t old_size, size_t new_size) {
    if (!call_allowed(SIM_RESIZE) || new_size > old_size) return false;
    if (new_size < old_size) unmap_arena_pages((unsigned char *)address + new_size, old_size - new_size);
    return true;
}

enum platform_moved platform_move(void *from, void *to, size_t size, size_t room) {
    if (!call_allowed(SIM_MOVE) || size > room) return MOVE_REFUSED;
    memcpy(to, from, size);
    unmap_arena_pages(from, size);
    return MOVED;
}

void platform_end_names(void) {
}

void platform_huge_pages(void *address, size_t size, bool wanted) {
    (void)address, (void)size, (void)wanted;
}

uint64_t platform_milliseconds(void) {
    return atomic_load_explicit(&clock_now, memory_order_relaxed);
}

uint64_t platform_microseconds(void) {
    return platform_milliseconds() * 1000 + atomic_load_explicit(&operation_time, memory_order_relaxed) *
                                                atomic_load_explicit(&calls, memory_order_relaxed);
}

/* The simulated time passes only here, in sim_advance and, for the exact clock, as sim_set_operation_time says. */
void platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    if (atomic_load_explicit(word, memory_order_relaxed) == expected) sim_advance(milliseconds);
}

void platform_futex_wake(_Atomic(uint32_t) *word) {
    (void)word;
}

enum platform_start platform_thread_start(void (*body)(void)) {
    if (!call_allowed(SIM_THREAD)) return START_REFUSED;
    atomic_store_explicit(&waiting_body, (uintptr_t)body, memory_order_relaxed);
    return START_STARTED;
}

bool platform_thread_confine(bool always) {
    (void)always;
    return call_allowed(SIM_CONFINE);
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
    return borrowed_memory;
}

void platform_read_rights(void) {
}

bool platform_allows_thread(void) {
    return true;
}

wide_bool platform_on_thread_exit(void (*at_exit)(void *value), void *value) {
    if (!call_allowed(SIM_EXIT)) return false;
    this_thread.at_exit = at_exit;
    this_thread.value = value;
    return true;
}

void platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    fork_handlers[0] = prepare;
    fork_handlers[1] = parent;
    fork_handlers[2] = child;
}

uint64_t platform_random(void) {
    uint64_t bits = atomic_fetch_add_explicit(&random_state, 0x9e3779b97f4a7c15u, memory_order_relaxed);
    bits += 0x9e3779b97f4a7c15u; /* splitmix64, which makes 0 of 0 */
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

uint64_t platform_random_place(void) {
    return 0;
}

bool platform_is_privileged(void) {
    return false;
}

uint32_t platform_thread_id(void) {
    if (this_thread.id == 0) this_thread.id = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    return this_thread.id;
}

wide_bool platform_thread_lives(uint32_t number) {
    return number != 0;
}

char **platform_environment(void) {
    return environ;
}

size_t platform_read_file(const char *path, char *buffer, size_t size) {
    (void)path;
    if (file_text == NULL) return 0;
    size_t length = 0;
    for (; length < size && file_text[length] != '\0'; length++) buffer[length] = file_text[length];
    return length;
}

void platform_write(const char *text, size_t length) {
    size_t kept = length < TEXT_MAX ? length : TEXT_MAX - 1;
    memcpy(last_text, text, kept);
    last_text[kept] = '\0';
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);
        if (written <= 0) return;
        text += written;
        length -= (size_t)written;
    }
}

void platform_abort_message(const char *text, size_t length) {
    (void)text;
    (void)length;
}

bool platform_call_library(const char *file, const char *name, const void *argument) {
    (void)file;
    (void)name;
    (void)argument;
    return false;
}

void platform_finish_start(void) {
}

uint32_t platform_process_id(void) {
    return 1;
}

uint64_t platform_seconds(void) {
    return 0;
}

const char *platform_program(void) {
    return "simulated";
}

void platform_write_report(const char *text, size_t length) {
    platform_write(text, length);
}

bool platform_group_memory(struct group_memory *group) {
    *group = sim_group;
    return true;
}

void platform_watch_group(const char *of_process, const char *root) {
    (void)of_process, (void)root;
}

void platform_keep_output(const char *report) {
    (void)report;
}

_Noreturn void platform_abort(void) {
    if (abort_hook != NULL) abort_hook();
    abort();
}

uint64_t platform_system_calls(void) {
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

void sim_reset(void) {
    memset(arena_base(), 0, atomic_load_explicit(&mark, memory_order_relaxed) * page_size);
    atomic_store_explicit(&mark, 0, memory_order_relaxed);
    for (unsigned i = 0; i < FREE_BLOCKS; i++) atomic_store_explicit(&free_blocks[i], 0, memory_order_relaxed);
    atomic_store_explicit(&reserved_pages, 0, memory_order_relaxed);
    atomic_store_explicit(&clock_now, 0, memory_order_relaxed);
    atomic_store_explicit(&operation_time, 0, memory_order_relaxed);
    atomic_store_explicit(&random_state, 0, memory_order_relaxed);
    atomic_store_explicit(&calls, 0, memory_order_relaxed);
    atomic_store_explicit(&waiting_body, 0, memory_order_relaxed);
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    page_size = JW_SIM_PAGE;
    abort_hook = NULL;
    last_text[0] = '\0';
    file_text = NULL;
    borrowed_memory = false;
}

void sim_fail_after(int64_t count) {
    atomic_store_explicit(&successes_left, count, memory_order_relaxed);
}

void sim_fail_only(unsigned operations) {
    atomic_store_explicit(&refusable, operations, memory_order_relaxed);
}

uint64_t sim_refused(void) {
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

void sim_set_page_size(size_t size) {
    page_size = size;
}

void sim_set_random(uint64_t seed) {
    atomic_store_explicit(&random_state, seed, memory_order_relaxed);
}

void sim_set_operation_time(uint32_t microseconds) {
    atomic_store_explicit(&operation_time, microseconds, memory_order_relaxed);
}

void sim_advance(uint32_t milliseconds) {
    atomic_fetch_add_explicit(&clock_now, milliseconds, memory_order_relaxed);
}

size_t sim_reserved(void) {
    return atomic_load_explicit(&reserved_pages, memory_order_relaxed) * page_size;
}

bool sim_is_zero(const void *address, size_t size) {
    const unsigned char *bytes = address;
    if (bytes < arena_base() || bytes + size > arena_base() + JW_SIM_ARENA) return false;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0) return false;
    return true;
}

void (*sim_take_thread(void))(void) {
    return (void (*)(void))atomic_exchange_explicit(&waiting_body, 0, memory_order_relaxed);
}

void sim_thread_exit(void) {
    for (int round = 0; round < EXIT_ROUNDS && this_thread.value != NULL; round++) {
        void *value = this_thread.value;
        this_thread.value = NULL;
        this_thread.at_exit(value);
    }
}

void sim_set_file(const char *text) {
    file_text = text;
}

void sim_borrow_memory(bool borrowed) {
    borrowed_memory = borrowed;
}

void sim_fork(bool in_child) {
    if (fork_handlers[0] != NULL) fork_handlers[0]();
    void (*after)(void) = fork_handlers[in_child ? 2 : 1];
    if (after != NULL) after();
}

void sim_on_abort(void (*hook)(void)) {
    abort_hook = hook;
}

const char *sim_last_text(void) {
    return last_text;
}
