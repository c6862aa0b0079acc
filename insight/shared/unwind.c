/* unwind.c - finds callers by libunwind or by libgcc. */
#include "unwind.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    BLOCK = 128,         /* bytes, with 16 before the object */
    MOST_BLOCKS = 16384, /* at a time; one a thread */
    WAIT_NS = 50000,
};

typedef int backtrace_function(void **frames, int most);
typedef int visit_function(void *context, void *argument);

static backtrace_function *unwind;
static int (*visit_frames)(visit_function *visit, void *argument); /* libgcc's */
static uintptr_t (*frame_address)(void *context), (*frame_place)(void *context);
static bool locks;
static _Atomic uint32_t unwinding, closed;
static char *blocks;
static _Atomic uint32_t blocks_used;
static _Atomic uint64_t free_block; /* version | number + 1 of the first free one, whose first word has the next */

struct frames {
    void **frames;
    uintptr_t *places; /* NULL: not wanted */
    int count, most;
};

static int add_frame(void *context, void *argument) {
    struct frames *found = argument;
    if (found->count == found->most) return 5; /* _URC_END_OF_STACK */
    if (found->places != NULL) found->places[found->count] = frame_place(context);
    found->frames[found->count++] = (void *)frame_address(context);
    return 0;
}

static int unwind_by_libgcc(void **frames, int most) {
    return unwind_now(frames, NULL, most);
}

static void find_libunwind(void) {
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != NULL) unwind = (backtrace_function *)dlsym(library, "unw_backtrace");
}

static void find_libgcc(void) {
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) return;
    visit_frames = (int (*)(visit_function *, void *))dlsym(library, "_Unwind_Backtrace");
    frame_address = (uintptr_t(*)(void *))dlsym(library, "_Unwind_GetIP");
    frame_place = (uintptr_t(*)(void *))dlsym(library, "_Unwind_GetCFA");
    if (visit_frames != NULL && frame_address != NULL && frame_place != NULL) unwind = unwind_by_libgcc;
}

bool unwind_begin(bool without_locks) {
    bool quiet = dlsym(RTLD_DEFAULT, "_dl_find_object") != NULL;
    if (without_locks && quiet) find_libgcc();
    if (unwind == NULL) find_libunwind();
    if (unwind == NULL) find_libgcc();
    locks = !(quiet && unwind == unwind_by_libgcc);
    char *memory = mmap(NULL, (size_t)MOST_BLOCKS * BLOCK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || unwind == NULL) return false;
    void *frames[MOST_FRAMES];
    unwind(frames, MOST_FRAMES); /* whatever an unwinder does at its first call, it does here */
    blocks = memory;
    return true;
}

bool unwinder_locks(void) {
    return locks;
}

int unwind_now(void **frames, uintptr_t *places, int most) {
    if (unwind != unwind_by_libgcc) {
        if (places != NULL) memset(places, 0, (size_t)most * sizeof *places);
        return unwind(frames, most);
    }
    struct frames found = {frames, places, 0, most};
    visit_frames(add_frame, &found);
    return found.count;
}

uint64_t stack_hash(void **frames, int count) {
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash | 1;
}

/* --- Fork -------------------------------------------------------------------------------------------------------- */

void wait_a_moment(void) {
    struct timespec moment = {0, WAIT_NS};
    syscall(SYS_nanosleep, &moment, NULL); /* the function would be a point where a thread can be cancelled */
}

bool unwind_enter(void) {
    atomic_fetch_add(&unwinding, 1);
    if (atomic_load(&closed) == 0) return true;
    atomic_fetch_sub(&unwinding, 1);
    return false;
}

bool unwind_enter_alone(void) {
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&unwinding, &none, 1)) return false;
    if (atomic_load(&closed) == 0) return true;
    atomic_fetch_sub(&unwinding, 1);
    return false;
}

void unwind_leave(void) {
    atomic_fetch_sub(&unwinding, 1);
}

void unwind_before_fork(void) {
    atomic_fetch_add(&closed, 1);
    while (atomic_load(&unwinding) != 0) wait_a_moment();
}

void unwind_after_fork(void) {
    atomic_fetch_sub(&closed, 1);
}

void unwind_in_child(void) {
    atomic_store(&closed, 0);
    atomic_store(&unwinding, 0);
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

void *own_allocate(size_t size) {
    if (size > BLOCK - 16 || blocks == NULL) return NULL;
    uint32_t number = pop_block();
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

bool own_has(const void *object) {
    return (uintptr_t)object - (uintptr_t)blocks < (uintptr_t)MOST_BLOCKS * BLOCK && blocks != NULL;
}

void own_free(void *object) {
    uint32_t number = (uint32_t)(((char *)object - blocks) / BLOCK) + 1;
    uint64_t first = atomic_load(&free_block);
    do atomic_store(next_of(number), (uint32_t)first);
    while (!atomic_compare_exchange_weak(&free_block, &first, ((first >> 32) + 1) << 32 | number));
}
