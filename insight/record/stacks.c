/* stacks.c - call stacks as numbers. Each different stack is written once, by the thread that has it first.
 *
 *   table[i]   0 -> hash of a stack   any thread   relaxed: the number i + 1 says all, and its definition is in a ring
 *
 * A number may reach the recording process before its definition, which is in another thread's ring: a reader takes all
 * definitions first. A thread that is killed between the two leaves a stack that is not known. */
#include "stacks.h"
#include "shared/unwind.h"
#include "writer.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MOST_STACKS = 1 << 20,
    PROBES = 64,
    MOST_MODULES = 4096,
    FORK_WAITS = 2000, /* of 50 us each */
};

bool stacks_wanted;
static _Atomic uint64_t *table;

/* Runs before main. What the program's libraries have allocated by then has no stack. */
__attribute__((constructor)) static void stacks_begin(void) {
    if (getenv("JW_RECORD_STACKS") == NULL) return;
    struct event *events = writer.events;
    writer.events = NULL; /* with busy: what dlopen allocates is not recorded */
    writer.busy = true;
    void *memory = mmap(NULL, MOST_STACKS * sizeof *table, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED && unwind_begin(false)) {
        table = memory;
        stacks_wanted = true;
    }
    writer.events = events;
    writer.busy = false;
}

/* --- Modules: which file is at an address ------------------------------------------------------------------------ */

static struct {
    uintptr_t start, bias;
} modules[MOST_MODULES];
static uint32_t module_count;
static uint64_t changes; /* of the loader's list, when it was last looked at */
static atomic_flag looking = ATOMIC_FLAG_INIT;

static void put_path(const char *path) {
    size_t length = strlen(path) + 1;
    for (size_t at = 0; at < length; at += 16) {
        char part[16] = "";
        struct event event = {.kind = EVENT_PATH};
        memcpy(part, path + at, length - at < 16 ? length - at : 16);
        memcpy(&event.address, part, 8);
        memcpy(&event.size, part + 8, 8);
        writer_put(&event);
    }
}

static bool is_known(uintptr_t start, uintptr_t bias) {
    for (uint32_t i = 0; i < module_count; i++)
        if (modules[i].start == start && modules[i].bias == bias) return true;
    return false;
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *argument) {
    const uint64_t *before = argument;
    uintptr_t start = UINTPTR_MAX, end = 0, bias = info->dlpi_addr;
    (void)size;
    if (info->dlpi_adds + info->dlpi_subs == *before) return 1;
    changes = info->dlpi_adds + info->dlpi_subs;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        uintptr_t from = bias + header->p_vaddr, to = from + header->p_memsz;
        if (from < start) start = from;
        if (to > end) end = to;
    }
    if (start >= end || module_count == MOST_MODULES || is_known(start, bias)) return 0;
    modules[module_count].start = start;
    modules[module_count++].bias = bias;
    writer_put(&(struct event){.kind = EVENT_MODULE, .address = start, .size = end});
    writer_put(&(struct event){.kind = EVENT_BIAS, .address = bias});
    put_path(info->dlpi_name != NULL ? info->dlpi_name : "");
    return 0;
}

/* The thread that finds another one here leaves the list to that one. */
static void put_new_modules(void) {
    if (atomic_flag_test_and_set(&looking)) return;
    uint64_t before = changes;
    dl_iterate_phdr(visit_module, &before);
    atomic_flag_clear(&looking);
}

/* --- Stacks ------------------------------------------------------------------------------------------------------ */

static void put_stack(uint32_t number, void **frames, int count) {
    put_new_modules();
    writer_put(&(struct event){.kind = EVENT_STACK, .stack = number, .address = (uint64_t)count});
    for (int i = 0; i < count; i += 2)
        writer_put(&(struct event){.kind = EVENT_FRAMES,
                                   .stack = number,
                                   .address = (uintptr_t)frames[i],
                                   .size = i + 1 < count ? (uintptr_t)frames[i + 1] : 0});
}

static uint32_t number_of(void **frames, int count) {
    uint64_t hash = stack_hash(frames, count), found;
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        uint32_t at = (uint32_t)((hash >> 20) + probe) & (MOST_STACKS - 1);
        found = atomic_load_explicit(&table[at], memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong_explicit(&table[at], &found, hash, memory_order_relaxed,
                                                                  memory_order_relaxed)) {
            put_stack(at + 1, frames, count);
            return at + 1;
        }
        if (found == hash) return at + 1;
    }
    return 0; /* the table is full here */
}

/* A thread that comes while another one forks waits a moment, and does without a stack after that. */
static bool enter(void) {
    for (int i = 0; i < FORK_WAITS; i++) {
        if (unwind_enter()) return true;
        wait_a_moment();
    }
    return false;
}

uint32_t stack_now(void) {
    void *frames[MOST_FRAMES];
    uint32_t number = 0;
    int error = errno;
    writer.busy = true; /* an unwinder that allocates is not recorded */
    if (enter()) {
        int count = unwind_now(frames, NULL, MOST_FRAMES);
        if (count > 0) number = number_of(frames, count);
        unwind_leave();
    }
    writer.busy = false;
    errno = error;
    return number;
}
