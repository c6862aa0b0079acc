/* entry.c - the functions that a recorded program calls: each passes the call on, and writes an event.
 *
 * A free is timed before the call and an allocation after it. Between the two events of one address the memory is free,
 * so the order of times is the order in which threads had the address. realloc does both, so it writes two events.
 * operator new and delete are malloc and free here, also where the allocator has operators of its own. */
#include "shared/operators.h"
#include "shared/real.h"
#include "shared/unwind.h"
#include "writer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Memory whose size is 16 bytes before, and which realloc replaces. */
static bool is_ours(const void *object) {
    return is_early(object) || (stacks_wanted && object != NULL && own_has(object));
}

static uint8_t log2_of(size_t alignment) {
    return alignment > 1 ? (uint8_t)(sizeof(long) * 8 - 1 - (size_t)__builtin_clzl(alignment)) : 0;
}

/* Inside of the recorder. Such memory is zeroed, and not the program's. */
static inline bool own_memory(size_t size, void **object) {
    if (__builtin_expect(!stacks_wanted, 1) || !writer.busy) return false;
    *object = own_allocate(size);
    return *object != NULL;
}

EXPORTED void *malloc(size_t size) {
    void *object;
    if (own_memory(size, &object)) return object;
    if (!real_ready()) return early_allocate(size);
    object = real.malloc(size);
    if (object != NULL) record(EVENT_MALLOC, time_now(), object, size, 0);
    return object;
}

EXPORTED void *calloc(size_t count, size_t size) {
    size_t all;
    void *object;
    bool fits = !__builtin_mul_overflow(count, size, &all);
    if (fits && own_memory(all, &object)) return object;
    if (!real_ready()) return fits ? early_allocate(all) : NULL;
    object = real.calloc(count, size);
    if (object != NULL) record(EVENT_CALLOC, time_now(), object, (uint64_t)count * size, 0);
    return object;
}

EXPORTED void free(void *object) {
    if (object == NULL || is_early(object) || !real_ready()) return;
    if (__builtin_expect(stacks_wanted, 0) && own_has(object)) {
        own_free(object);
        return;
    }
    record(EVENT_FREE, time_now(), object, 0, 0);
    real.free(object);
}

static void *early_grow(void *object, size_t size) {
    size_t old = size_before(object);
    void *moved = malloc(size);
    if (moved != NULL) memcpy(moved, object, old < size ? old : size);
    return moved;
}

EXPORTED void *realloc(void *object, size_t size) {
    if (object == NULL && !real_ready()) return early_allocate(size);
    if (is_ours(object)) return early_grow(object, size);
    if (!real_ready()) return NULL;
    if (object == NULL) {
        object = real.realloc(NULL, size);
        if (object != NULL) record(EVENT_MALLOC, time_now(), object, size, 0);
        return object;
    }
    record(EVENT_REALLOC_BEGIN, time_now(), object, size, 0);
    void *moved = real.realloc(object, size);
    record(EVENT_REALLOC_END, time_now(), moved, size, 0);
    return moved;
}

EXPORTED void *reallocarray(void *object, size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(object, all);
}

EXPORTED void *memalign(size_t alignment, size_t size) {
    if (!real_ready() || real.memalign == NULL) return NULL;
    void *object = real.memalign(alignment, size);
    if (object != NULL) record(EVENT_ALIGNED, time_now(), object, size, log2_of(alignment));
    return object;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size) {
    if (!real_ready() || real.aligned_alloc == NULL) return NULL;
    void *object = real.aligned_alloc(alignment, size);
    if (object != NULL) record(EVENT_ALIGNED, time_now(), object, size, log2_of(alignment));
    return object;
}

EXPORTED int posix_memalign(void **result, size_t alignment, size_t size) {
    if (!real_ready() || real.posix_memalign == NULL) return ENOMEM;
    int error = real.posix_memalign(result, alignment, size);
    if (error == 0) record(EVENT_ALIGNED, time_now(), *result, size, log2_of(alignment));
    return error;
}

EXPORTED void *valloc(size_t size) {
    return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORTED void *pvalloc(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size > SIZE_MAX - page) return NULL;
    return memalign(page, (size + page - 1) / page * page);
}

EXPORTED void cfree(void *object) {
    free(object);
}
EXPORTED void free_sized(void *object, size_t size) {
    (void)size;
    free(object);
}
EXPORTED void free_aligned_sized(void *object, size_t alignment, size_t size) {
    (void)alignment;
    (void)size;
    free(object);
}

EXPORTED size_t malloc_usable_size(void *object) {
    size_t size = 0;
    if (is_ours(object)) size = size_before(object);
    else if (object != NULL && real_ready() && real.malloc_usable_size != NULL) size = real.malloc_usable_size(object);
    return size;
}

/* Objects of the allocator's own operators. */
uint64_t operators_mark(void) {
    return writer.head;
}

void operators_found(const void *object, uint64_t mark, size_t size, size_t alignment) {
    if (writer.head == mark)
        record(alignment != 0 ? EVENT_ALIGNED : EVENT_MALLOC, time_now(), object, size, log2_of(alignment));
}
