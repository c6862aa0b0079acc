/* pool.c - takes and frees slots, and finds out which mistake a fault or a free was. */
#include "pool.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PATTERN = 0xa5, /* in the rest of a slot's page */
    TRIES = 4,      /* to take a slot, while other threads take the ones that were found */
};
enum { FREE, BUSY, LIVE, STATES };

struct pool pool;
_Thread_local int64_t guard_left;
static _Thread_local bool drawn;
static _Thread_local uintptr_t named; /* the fault that was named last: the program's handler may return to it */
static _Atomic uint64_t *states;
static _Atomic uint64_t random_state, stamps = 1;
__attribute__((visibility("hidden"))) extern const char __ehdr_start[], _end[]; /* of this library: the linker's */

static uint64_t next_random(void) {
    uint64_t x = atomic_fetch_add(&random_state, UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void pool_in_child(void) {
    atomic_fetch_add(&random_state, (uint64_t)getpid() << 20);
}

bool pool_begin(int64_t rate, uint32_t slots) {
    uint64_t seed;
    memcpy(&seed, (const void *)getauxval(AT_RANDOM), sizeof seed);
    atomic_fetch_add(&random_state, seed);
    pool.page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (2 * (size_t)slots + 1) * pool.page, slot = sizeof *pool.slots + sizeof *states;
    char *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *about = mmap(NULL, slots * slot, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || about == MAP_FAILED) return false;
    states = (_Atomic uint64_t *)about;
    pool.slots = (struct slot *)(about + slots * sizeof *states);
    pool.rate = rate;
    pool.count = slots;
    pool.start = (uintptr_t)memory;
    pool.size = size;
    return true;
}

static int64_t distance(void) {
    return (int64_t)(next_random() % (uint64_t)(2 * pool.rate - 1)) + 1;
}

/* Whether this allocation is a sample. Objects from before the library's constructor are none. */
static bool is_due(void) {
    if (pool.size == 0) return false;
    if (!drawn) {
        drawn = true;
        guard_left = distance();
        if (guard_passes()) return false;
    }
    guard_left = distance();
    return true;
}

/* The slot that has been free for the longest time. */
static bool take(uint32_t *number) {
    for (int i = 0; i < TRIES; i++) {
        uint64_t oldest = UINT64_MAX;
        for (uint32_t k = 0; k < pool.count; k++) {
            uint64_t state = atomic_load(&states[k]);
            if (state % STATES != FREE || state >= oldest) continue;
            oldest = state;
            *number = k;
        }
        if (oldest == UINT64_MAX) return false;
        if (atomic_compare_exchange_strong(&states[*number], &oldest, BUSY)) return true;
    }
    return false;
}

static char *page_of(uint32_t number) {
    return (char *)pool.start + (2 * (size_t)number + 1) * pool.page;
}

void pool_stack_now(struct stack *stack) {
    stack->count = 0;
    stack->thread = (int)syscall(SYS_gettid);
    if (unwinder_locks() && !unwind_enter()) return;
    int64_t left = guard_left;
    guard_left = INT64_MAX; /* what an unwinder allocates is no sample */
    int count = unwind_now(stack->frames, NULL, MOST_FRAMES), own = 0;
    guard_left = left;
    if (unwinder_locks()) unwind_leave();
    while (own < count && (const char *)stack->frames[own] >= __ehdr_start && (const char *)stack->frames[own] < _end)
        own++;
    while (count > own && stack->frames[count - 1] == NULL) count--; /* some unwinders' end */
    stack->count = count - own;
    memmove(stack->frames, stack->frames + own, (size_t)stack->count * sizeof *stack->frames);
}

static void *place_object(size_t size, size_t alignment) {
    /* what begins at a page may be protected by the program itself */
    if (size > pool.page || alignment >= pool.page) return NULL;
    size_t room = (size + (size == 0) + alignment - 1) & ~(alignment - 1);
    uint32_t number = 0;
    if (!take(&number)) return NULL;
    char *page = page_of(number);
    struct slot *slot = &pool.slots[number];
    if (mprotect(page, pool.page, PROT_READ | PROT_WRITE) != 0) {
        atomic_store(&states[number], atomic_fetch_add(&stamps, 1) * STATES + FREE);
        return NULL;
    }
    memset(page, PATTERN, pool.page);
    slot->object = page + (next_random() >> 63 != 0 ? pool.page - room : 0);
    slot->size = size;
    slot->freed.thread = 0;
    memset(slot->object, 0, size);
    pool_stack_now(&slot->allocated);
    atomic_store(&states[number], LIVE);
    return slot->object;
}

void *pool_sample(size_t size, size_t alignment) {
    int error = errno;
    void *object = is_due() ? place_object(size, alignment) : NULL;
    errno = error;
    return object;
}

/* NULL: a page without access is there. */
static struct slot *slot_at(uintptr_t address, uint64_t *state) {
    size_t page = (address - pool.start) / pool.page;
    *state = page % 2 == 1 ? atomic_load(&states[page / 2]) % STATES : BUSY;
    return page % 2 == 1 ? &pool.slots[page / 2] : NULL;
}

size_t pool_size_of(const void *object) {
    uint64_t state;
    const struct slot *slot = slot_at((uintptr_t)object, &state);
    return slot != NULL && state == LIVE && slot->object == object ? slot->size : 0;
}

static size_t distance_to(const struct slot *slot, uintptr_t address) {
    uintptr_t first = (uintptr_t)slot->object, end = first + slot->size;
    return address < first ? first - address : address >= end ? address - end + 1 : 0;
}

/* In a page without access: the neighbour that is alive, or else was, and nearer. */
static struct slot *neighbour(uintptr_t address, uint64_t *state) {
    struct slot *found = NULL;
    for (int side = 0; side < 2; side++) {
        uintptr_t beside = side == 0 ? address - pool.page : address + pool.page;
        uint64_t other;
        if (beside - pool.start >= pool.size) continue;
        struct slot *slot = slot_at(beside, &other);
        if (slot->object == NULL) continue;
        bool nearer = found == NULL || distance_to(slot, address) < distance_to(found, address);
        if (found != NULL && (other == LIVE) != (*state == LIVE)) nearer = other == LIVE;
        if (!nearer) continue;
        found = slot;
        *state = other;
    }
    return found;
}

/* A mistake that free has found. */
static void accuse(const char *kind, const char *access, uintptr_t address, const struct slot *slot) {
    struct stack here;
    pool_stack_now(&here);
    report_write(&(struct report){kind, access, address, "found by", &here, slot, false});
    abort();
}

static void accuse_free(void *object) {
    uint64_t state;
    const struct slot *slot = slot_at((uintptr_t)object, &state);
    bool twice = slot != NULL && slot->object == object;
    if (slot == NULL) slot = neighbour((uintptr_t)object, &state);
    accuse(twice ? "double free" : "invalid free", NULL, (uintptr_t)object,
           slot != NULL && slot->object != NULL ? slot : NULL);
}

void pool_must_be_live(void *object) {
    uint64_t state;
    const struct slot *slot = slot_at((uintptr_t)object, &state);
    if (slot == NULL || state != LIVE || slot->object != object) accuse_free(object);
}

static bool is_intact(const char *from, const char *end) {
    return from == end ||
           (*(const unsigned char *)from == PATTERN && memcmp(from, from + 1, (size_t)(end - from) - 1) == 0);
}

/* The byte nearest to the object, on each side, is named. */
static void look_at_rest(const struct slot *slot, const char *page) {
    const char *end = page + pool.page, *at = slot->object + slot->size;
    if (!is_intact(at, end)) {
        while (*(const unsigned char *)at == PATTERN) at++;
        accuse("overflow, seen at free", "write", (uintptr_t)at, slot);
    }
    if (!is_intact(page, slot->object)) {
        for (at = slot->object - 1; *(const unsigned char *)at == PATTERN;) at--;
        accuse("underflow, seen at free", "write", (uintptr_t)at, slot);
    }
}

void pool_free(void *object) {
    int error = errno;
    pool_must_be_live(object);
    uint32_t number = (uint32_t)(((uintptr_t)object - pool.start) / pool.page / 2);
    struct slot *slot = &pool.slots[number];
    uint64_t live = LIVE;
    if (!atomic_compare_exchange_strong(&states[number], &live, BUSY)) accuse_free(object);
    look_at_rest(slot, page_of(number));
    pool_stack_now(&slot->freed);
    mprotect(page_of(number), pool.page, PROT_NONE); /* where this fails, a use after free is not seen */
    atomic_store(&states[number], atomic_fetch_add(&stamps, 1) * STATES + FREE);
    errno = error;
}

void pool_name_fault(uintptr_t address, const char *access, uintptr_t instruction) {
    if (named == address) return;
    named = address;
    uint64_t state;
    struct slot *slot = slot_at(address, &state);
    const char *kind = "use after free";
    if (slot == NULL) {
        slot = neighbour(address, &state);
        if (slot == NULL) kind = "wild access";
        else if (state == LIVE) kind = address < (uintptr_t)slot->object ? "underflow" : "overflow";
    } else if (slot->object == NULL) {
        slot = NULL;
        kind = "wild access";
    } else if (state == LIVE) {
        kind = "use after free, of an object that was here before this one";
    }
    struct stack here;
    pool_stack_now(&here);
    int at = 0;
    while (at < here.count && (uintptr_t)here.frames[at] != instruction) at++;
    if (instruction != 0 && at == here.count) {
        here.frames[0] = (void *)instruction;
        here.count = 1;
        at = 0;
    }
    if (instruction == 0) at = 0;
    here.count -= at;
    memmove(here.frames, here.frames + at, (size_t)here.count * sizeof *here.frames);
    report_write(&(struct report){kind, access, address, "accessed by", &here, slot, instruction != 0});
}
