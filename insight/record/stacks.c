/* stacks.c - call stacks as numbers. Each different stack is written once, by the thread that has it first.
 *
 * libunwind's unw_backtrace finds the callers by .eh_frame, and by frame pointers where there is none; its own cache
 * makes that quick. Without libunwind it is libgcc's _Unwind_Backtrace, which is slower. Both are found at the start,
 * outside of the program's names, so that a program's exceptions never meet another unwinder.
 *
 *   table[i]   0 -> hash of a stack   any thread   relaxed: the number i + 1 says all, and its definition is in a ring
 *
 * A number may reach the recording process before its definition, which is in another thread's ring: a reader takes all
 * definitions first. A thread that is killed between the two leaves a stack that is not known. */
#include "stacks.h"
#include "writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MOST_FRAMES = 64,
    MOST_STACKS = 1 << 20,
    PROBES = 64,
    MOST_MODULES = 4096,
    BLOCK = 128,         /* bytes, with 16 before the object */
    MOST_BLOCKS = 16384, /* at a time; one a thread */
    FORK_WAITS = 2000,   /* of 50 us each */
};

typedef int backtrace_function(void **frames, int most);
typedef int visit_function(void *context, void *argument);

bool stacks_wanted;
static backtrace_function *unwind;
static int (*visit_frames)(visit_function *visit, void *argument); /* libgcc's */
static uintptr_t (*frame_address)(void *context);
static _Atomic uint64_t *table;
static _Atomic uint32_t unwinding, closed;
static char *blocks;
static _Atomic uint32_t blocks_used;
static _Atomic uint64_t free_block; /* version | number + 1 of the first free one, whose first word has the next */

struct frames {
    void **frames;
    int count, most;
};

static int add_frame(void *context, void *argument) {
    struct frames *found = argument;
    if (found->count == found->most) return 5; /* _URC_END_OF_STACK */
    found->frames[found->count++] = (void *)frame_address(context);
    return 0;
}

static int unwind_by_libgcc(void **frames, int most) {
    struct frames found = {frames, 0, most};
    visit_frames(add_frame, &found);
    return found.count;
}

static void find_unwinder(void) {
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != NULL) unwind = (backtrace_function *)dlsym(library, "unw_backtrace");
    if (unwind != NULL) return;
    library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) return;
    visit_frames = (int (*)(visit_function *, void *))dlsym(library, "_Unwind_Backtrace");
    frame_address = (uintptr_t(*)(void *))dlsym(library, "_Unwind_GetIP");
    if (visit_frames != NULL && frame_address != NULL) unwind = unwind_by_libgcc;
}

/* Before main. What the program's libraries have allocated by then has no stack. */
__attribute__((constructor)) static void stacks_begin(void) {
    if (getenv("JW_RECORD_STACKS") == NULL) return;
    struct event *events = writer.events;
    writer.events = NULL; /* with busy: what dlopen allocates is not recorded */
    writer.busy = true;
    find_unwinder();
    size_t table_size = MOST_STACKS * sizeof *table;
    char *memory = mmap(NULL, table_size + (size_t)MOST_BLOCKS * BLOCK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED && unwind != NULL) {
        void *frames[MOST_FRAMES];
        unwind(frames, MOST_FRAMES); /* whatever an unwinder does at its first call, it does here */
        table = (_Atomic uint64_t *)memory;
        blocks = memory + table_size;
        stacks_wanted = true;
    }
    writer.events = events;
    writer.busy = false;
}

/* --- Memory of its own ------------------------------------------------------------------------------------------- */

static _Atomic uint32_t *next_of(uint32_t number) {
    return (_Atomic uint32_t *)(blocks + (size_t)(number - 1) * BLOCK);
}

/* The version changes with each exchange, so that a block that left and came back is noticed. */
static uint32_t pop_block(void) {
    uint64_t first = atomic_load(&free_block), then;
    do {
        if ((uint32_t)first == 0) return 0;
        then = ((first >> 32) + 1) << 32 | atomic_load(next_of((uint32_t)first));
    } while (!atomic_compare_exchange_weak(&free_block, &first, then));
    return (uint32_t)first;
}

void *stacks_allocate(size_t size) {
    uint32_t number = size <= BLOCK - 16 ? pop_block() : 0;
    if (size > BLOCK - 16) return NULL;
    if (number == 0) {
        if (atomic_load(&blocks_used) >= MOST_BLOCKS) return NULL;
        number = atomic_fetch_add(&blocks_used, 1) + 1;
        if (number > MOST_BLOCKS) return NULL;
    }
    char *block = (char *)next_of(number);
    memset(block, 0, BLOCK);
    memcpy(block, &size, sizeof size);
    return block + 16;
}

bool stacks_own(const void *object) {
    return (uintptr_t)object - (uintptr_t)blocks < (uintptr_t)MOST_BLOCKS * BLOCK;
}

void stacks_free(void *object) {
    uint32_t number = (uint32_t)(((char *)object - blocks) / BLOCK) + 1;
    uint64_t first = atomic_load(&free_block);
    do atomic_store(next_of(number), (uint32_t)first);
    while (!atomic_compare_exchange_weak(&free_block, &first, ((first >> 32) + 1) << 32 | number));
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

static uint64_t hash_of(void **frames, int count) {
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash | 1;
}

static uint32_t number_of(void **frames, int count) {
    uint64_t hash = hash_of(frames, count), found;
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
        atomic_fetch_add(&unwinding, 1);
        if (atomic_load(&closed) == 0) return true;
        atomic_fetch_sub(&unwinding, 1);
        writer_wait();
    }
    return false;
}

uint32_t stack_now(void) {
    void *frames[MOST_FRAMES];
    uint32_t number = 0;
    int error = errno;
    writer.busy = true; /* an unwinder that allocates is not recorded */
    if (enter()) {
        int count = unwind(frames, MOST_FRAMES);
        if (count > 0) number = number_of(frames, count);
        atomic_fetch_sub(&unwinding, 1);
    }
    writer.busy = false;
    errno = error;
    return number;
}

void stacks_before_fork(void) {
    atomic_fetch_add(&closed, 1);
    while (atomic_load(&unwinding) != 0) writer_wait();
}

void stacks_after_fork(void) {
    atomic_fetch_sub(&closed, 1);
}

void stacks_in_child(void) {
    atomic_store(&closed, 0);
    atomic_store(&unwinding, 0);
}
