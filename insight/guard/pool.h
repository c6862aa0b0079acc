/* pool.h - slots: pages between inaccessible ones, where the guarded objects are.
 *
 *   | no access | slot 0 | no access | slot 1 | ... | no access |
 *
 * A slot's page can be read and written only while an object is there. The object is at the page's right or left end,
 * and the rest of the page has a pattern that is verified at free. A slot's state:
 *
 *   FREE | stamp      no access. A smaller stamp: free for a longer time, and taken earlier.
 *   BUSY              a thread takes it or frees it. After a fork a child may have such slots: they are lost there.
 *   LIVE
 *
 * No thread waits for another one. */
#ifndef JW_GUARD_POOL_H
#define JW_GUARD_POOL_H

#include "shared/unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack {
    int count;
    int thread; /* 0: none */
    void *frames[MOST_FRAMES];
};

struct slot {
    char *object;
    size_t size;
    struct stack allocated, freed; /* freed: of this object, or of one that was there before */
};

struct pool {
    uintptr_t start;
    size_t size; /* 0: nothing is guarded */
    size_t page;
    int64_t rate;
    uint32_t count;
    struct slot *slots;
};
extern struct pool pool;

/* Allocations of this thread that are still no sample. The first one of a thread goes the slow way. */
extern _Thread_local int64_t guard_left;

static inline bool guard_passes(void) {
    return __builtin_expect(--guard_left > 0, 1);
}

/* The object may also be outside of any slot: the program's mistake. */
static inline bool pool_has(const void *object) {
    return __builtin_expect((uintptr_t)object - pool.start < pool.size, 0);
}

bool pool_begin(int64_t rate, uint32_t slots);
void pool_in_child(void); /* a child of fork draws other samples than its parent */

/* For an allocation that does not pass: an object, all zero; NULL: no sample, or no room. Keeps errno. */
void *pool_sample(size_t size, size_t alignment);
void pool_free(void *object);
size_t pool_size_of(const void *object); /* 0: no live object */

/* Ends the process if no live object begins there. */
void pool_must_be_live(void *object);

/* The return addresses outside of this library. */
void pool_stack_now(struct stack *stack);

/* A fault in the pool was the program's: says so. */
void pool_name_fault(uintptr_t address, const char *access, uintptr_t instruction);
#endif
