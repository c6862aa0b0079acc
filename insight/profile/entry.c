/* entry.c - the functions that a profiled program calls. Most calls count their bytes, and jump to the allocator's.
 *
 * Not here is malloc_usable_size: only the loader and the unwinder have objects that are not the allocator's.
 * operator new and delete are malloc and free here. A realloc is a free and an allocation, as in jemalloc. */
#include "file.h"
#include "frames.h"
#include "sampler.h"
#include "shared/operators.h"
#include "shared/real.h"
#include "shared/unwind.h"
#include "table.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW __attribute__((noinline, cold)) static

/* Memory whose size is 16 bytes before. The filter leads its free to the slow way. */
static bool is_ours(const void *object) {
    return is_early(object) || own_has(object);
}

static void *filtered_or_null(void *object) {
    if (object != NULL && !filter_add(object)) return NULL;
    return object;
}

/* Inside of the profiler or of dlsym: not the allocator's object. */
static bool without_allocator(size_t size, void **object) {
    if (sampler.busy && (*object = filtered_or_null(own_allocate(size))) != NULL) return true;
    if (real_ready()) return false;
    *object = filtered_or_null(early_allocate(size));
    return true;
}

static void *sampled(void *object, size_t size) {
    sampler_reached(object, size);
    return object;
}

SLOW void *slow_malloc(size_t size) {
    void *object;
    return without_allocator(size, &object) ? object : sampled(real.malloc(size), size);
}

SLOW void *slow_calloc(size_t count, size_t size) {
    size_t all;
    void *object;
    if (__builtin_mul_overflow(count, size, &all)) return real_ready() ? real.calloc(count, size) : NULL;
    return without_allocator(all, &object) ? object : sampled(real.calloc(count, size), all);
}

SLOW void slow_free(void *object) {
    if (is_early(object)) return;
    if (own_has(object)) {
        filter_remove(object);
        own_free(object);
        return;
    }
    sampler_freed(sampler_forget(object));
    real.free(object);
}

static void *grow_ours(void *object, size_t size) {
    size_t old = size_before(object);
    void *moved = malloc(size);
    if (moved == NULL) return NULL;
    memcpy(moved, object, old < size ? old : size);
    free(object);
    return moved;
}

/* The old object's address may be another thread's as soon as the call has freed it. */
SLOW void *slow_realloc(void *object, size_t size, bool passes) {
    void *moved;
    if (object == NULL && without_allocator(size, &moved)) return moved;
    if (object != NULL && is_ours(object)) return grow_ours(object, size);
    if (!real_ready()) return NULL;
    uint32_t row = sampler_forget(object);
    moved = real.realloc(object, size);
    if (moved == NULL && size != 0) sampler_keep(object, row);
    else sampler_freed(row);
    return passes ? moved : sampled(moved, size);
}

EXPORTED void *malloc(size_t size) {
    return sampler_passes(size) ? real.malloc(size) : slow_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) return slow_calloc(count, size);
    return sampler_passes(all) ? real.calloc(count, size) : slow_calloc(count, size);
}

EXPORTED void free(void *object) {
    if (filter_has(object)) slow_free(object);
    else real.free(object);
}

EXPORTED void *realloc(void *object, size_t size) {
    bool passes = sampler_passes(size);
    return passes && !filter_has(object) ? real.realloc(object, size) : slow_realloc(object, size, passes);
}

EXPORTED void *reallocarray(void *object, size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(object, all);
}

static void *counted(void *object, size_t size) {
    return object == NULL || sampler_passes(size) ? object : sampled(object, size);
}

EXPORTED void *memalign(size_t alignment, size_t size) {
    return real_ready() && real.memalign != NULL ? counted(real.memalign(alignment, size), size) : NULL;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size) {
    return real_ready() && real.aligned_alloc != NULL ? counted(real.aligned_alloc(alignment, size), size) : NULL;
}

EXPORTED int posix_memalign(void **result, size_t alignment, size_t size) {
    if (!real_ready() || real.posix_memalign == NULL) return ENOMEM;
    int error = real.posix_memalign(result, alignment, size);
    if (error == 0) counted(*result, size);
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

/* Another library may get the addresses, and then has rows of its own. */
EXPORTED int dlclose(void *library) {
    int (*next)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    int error = next(library);
    file_forget_addresses();
    frames_forget();
    return error;
}

/* Objects of the allocator's own operators. A call of our malloc has changed the distance. */
uint64_t operators_mark(void) {
    return (uint64_t)sampler.left;
}

void operators_found(const void *object, uint64_t mark, size_t size, size_t alignment) {
    (void)alignment;
    if ((uint64_t)sampler.left == mark && !sampler_passes(size)) sampler_reached(object, size);
}
