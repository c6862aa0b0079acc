/* libc.c - what client code finds instead of libc's memory allocator and ways to end, and the calls of checker.h.
 *
 * Each thread allocates upwards in a heap of its own, so that a block's address is a function of what its thread did.
 * Nothing is reused within a run: a freed block stays freed. Around a block lies memory of no block.
 */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 1 << 14, RED_ZONE = 32 };

struct block {
    uint64_t address;
    size_t size;
    uint32_t pc;
    bool freed;
};

static struct block blocks[BLOCKS];
static unsigned block_count;
static uint64_t heap_top[THREADS];

#define ENTER() (client_pc = (uintptr_t)__builtin_return_address(0))

void heap_reset(void) {
    block_count = 0;
    for (unsigned i = 0; i < THREADS; i++) heap_top[i] = ARENA_HEAPS + (uint64_t)i * HEAP_SIZE;
}

static void *allocate(size_t alignment, size_t size) {
    uint64_t *top = &heap_top[run.current];
    if (alignment < 16) alignment = 16;
    uint64_t address = (*top + RED_ZONE + alignment - 1) & ~(uint64_t)(alignment - 1);
    if (size > HEAP_SIZE || address + size > ARENA_HEAPS + (uint64_t)(run.current + 1) * HEAP_SIZE)
        stop_unable("a thread allocates more than %d bytes", HEAP_SIZE);
    if (block_count == BLOCKS) stop_unable("more than %d blocks in an execution", BLOCKS);
    blocks[block_count++] = (struct block){.address = address, .size = size, .pc = (uint32_t)client_pc};
    *top = address + size;
    shadow_mark(address, size, MARK_ALLOCATED);
    shadow_mark(address, size, MARK_UNWRITTEN);
    return (void *)address;
}

/* The block with this address inside or near; NULL: there is none. */
static struct block *block_near(uint64_t address, size_t distance) {
    for (unsigned i = block_count; i-- > 0;)
        if (address + distance >= blocks[i].address && address < blocks[i].address + blocks[i].size + distance)
            return &blocks[i];
    return NULL;
}

const char *heap_describe(uint64_t address, uint64_t *offset, uint32_t *allocated_at) {
    struct block *block = block_near(address, 0);
    if (!block) block = block_near(address, RED_ZONE);
    if (!block) return NULL;
    static char name[32];
    snprintf(name, sizeof name, "block %u", (unsigned)(block - blocks) + 1);
    *offset = address - block->address;
    *allocated_at = block->pc;
    return name;
}

static struct block *block_at(const void *p) {
    struct block *block = block_near((uint64_t)p, 0);
    if (!block && ((uint64_t)p & 15) == 0) block = block_near((uint64_t)p, 1); /* an empty one */
    if (!block || block->address != (uint64_t)p) fail("wild-free", (uint64_t)p, 0, "free of what is no block");
    return block;
}

static void release(void *p) {
    struct block *block = block_at(p);
    if (block->freed) fail("double-free", (uint64_t)p, block->pc, "free of a block that is free");
    shadow_access(block->address, block->size, WRITE_ACCESS);
    shadow_mark(block->address, block->size, MARK_FREED);
    block->freed = true;
    block->pc = (uint32_t)client_pc;
}

void heap_check_leaks(void) {
    for (unsigned i = 0; i < block_count; i++) {
        if (blocks[i].freed) continue;
        client_pc = blocks[i].pc;
        fail("leak", blocks[i].address, 0, "%zu bytes, allocated here, were never freed", blocks[i].size);
    }
}

EXPORT void *__wrap_malloc(size_t size);
EXPORT void *__wrap_calloc(size_t count, size_t size);
EXPORT void *__wrap_realloc(void *p, size_t size);
EXPORT void *__wrap_aligned_alloc(size_t alignment, size_t size);
EXPORT int __wrap_posix_memalign(void **p, size_t alignment, size_t size);
EXPORT void __wrap_free(void *p);

EXPORT void *__wrap_malloc(size_t size) {
    ENTER();
    return allocate(16, size);
}

EXPORT void *__wrap_calloc(size_t count, size_t size) {
    ENTER();
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) return NULL;
    void *p = allocate(16, total);
    shadow_access((uint64_t)p, total, WRITE_ACCESS);
    return memset(p, 0, total);
}

EXPORT void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    ENTER();
    return allocate(alignment, size);
}

EXPORT int __wrap_posix_memalign(void **p, size_t alignment, size_t size) {
    ENTER();
    if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
    shadow_access((uint64_t)p, sizeof *p, WRITE_ACCESS);
    *p = allocate(alignment, size);
    return 0;
}

EXPORT void __wrap_free(void *p) {
    ENTER();
    if (p) release(p);
}

EXPORT void *__wrap_realloc(void *old, size_t size) {
    ENTER();
    void *p = allocate(16, size);
    if (!old) return p;
    struct block *block = block_at(old);
    size_t kept = block->size < size ? block->size : size;
    shadow_access((uint64_t)old, kept, READ_ACCESS | COPY_ACCESS);
    shadow_access((uint64_t)p, kept, WRITE_ACCESS | COPY_ACCESS);
    shadow_copy((uint64_t)p, (uint64_t)old, kept);
    memcpy(p, old, kept);
    release(old);
    return p;
}

/* ---- Ends */

EXPORT void __wrap___assert_fail(const char *expression, const char *file, unsigned line, const char *function);
EXPORT void __wrap_abort(void);
EXPORT void __wrap_exit(int status);

EXPORT void __wrap___assert_fail(const char *expression, const char *file, unsigned line, const char *function) {
    ENTER();
    const char *name = strrchr(file, '/');
    fail("assertion", 0, 0, "%s:%u, %s: %s", name ? name + 1 : file, line, function, expression);
}

EXPORT void __wrap_abort(void) {
    ENTER();
    fail("abort", 0, 0, "abort()");
}

EXPORT void __wrap_exit(int status) {
    ENTER();
    fail("abort", 0, 0, "exit(%d)", status);
}

/* ---- checker.h */

static struct outcome current_outcome;

void outcome_reset(void) {
    current_outcome.length = 0;
}

static bool same_outcome(const struct outcome *one, const struct outcome *other) {
    return one->length == other->length && !memcmp(one->values, other->values, one->length * sizeof one->values[0]);
}

void outcome_commit(void) {
    if (!current_outcome.length) return;
    shared_lock();
    unsigned i = 0;
    while (i < shared->outcomes && !same_outcome(&shared->outcome[i], &current_outcome)) i++;
    if (i == OUTCOMES) stop_unable("more than %d different outcomes", OUTCOMES);
    if (i == shared->outcomes) {
        shared->outcome[shared->outcomes++] = current_outcome;
        shared->outcome[i].count = 0;
    }
    shared->outcome[i].count++;
    shared_unlock();
}

EXPORT void checker_outcome(unsigned n, const int *values);
EXPORT void __VERIFIER_assume(int condition);
EXPORT unsigned checker_choose(unsigned n);
EXPORT void checker_may_stop(int may);
EXPORT unsigned checker_known_steps(unsigned thread);
EXPORT void checker_forbid(const void *p, size_t n);
EXPORT void checker_allow(void *p, size_t n, int zero);
EXPORT void checker_uninitialised(const void *p, size_t n);

EXPORT void checker_outcome(unsigned n, const int *values) {
    if (current_outcome.length + n > OUTCOME_VALUES) stop_unable("an outcome of more than %d values", OUTCOME_VALUES);
    memcpy(current_outcome.values + current_outcome.length, values, n * sizeof *values);
    current_outcome.length += n;
}

EXPORT void __VERIFIER_assume(int condition) {
    if (run.active && !condition) run_block();
}

EXPORT unsigned checker_choose(unsigned n) {
    ENTER();
    if (n == 0 || n > UINT16_MAX) stop_unable("checker_choose(%u)", n);
    if (!run.active) return 0;
    unsigned pick = choose(n, CHOOSE, 0);
    event_log(CHOOSE, 0, 0, RELAXED)->value = pick;
    return pick;
}

EXPORT void checker_may_stop(int may) {
    self()->may_stop = run.active && may;
}

EXPORT unsigned checker_known_steps(unsigned thread) {
    if (thread >= THREADS) stop_unable("there is no thread %u", thread);
    return self()->happened.at[thread];
}

EXPORT void checker_forbid(const void *p, size_t n) {
    ENTER();
    if (!run.active) return;
    shadow_access((uint64_t)p, n, WRITE_ACCESS);
    shadow_mark((uint64_t)p, n, MARK_FORBIDDEN);
}

EXPORT void checker_allow(void *p, size_t n, int zero) {
    ENTER();
    if (!run.active) return;
    shadow_mark((uint64_t)p, n, MARK_FRESH);
    if (zero) memset(p, 0, n);
    else shadow_mark((uint64_t)p, n, MARK_UNWRITTEN);
}

EXPORT void checker_uninitialised(const void *p, size_t n) {
    ENTER();
    if (run.active) shadow_mark((uint64_t)p, n, MARK_UNWRITTEN);
}
