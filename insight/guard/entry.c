/* entry.c - the functions that a guarded program calls. Most calls count down, and jump to the allocator's.
 *
 * operator new and delete are malloc and free here. */
#include "fault.h"
#include "pool.h"
#include "report.h"
#include "shared/operators.h"
#include "shared/real.h"
#include "shared/unwind.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW __attribute__((noinline, cold)) static

static bool some_early; /* dlsym got objects before the allocator was found */

/* Not the allocator's object. */
static inline bool is_special(const void *object) {
    return pool_has(object) || (__builtin_expect(some_early, 0) && is_early(object));
}

static void *early(size_t size) {
    some_early = true;
    return early_allocate(size);
}

SLOW void *slow_malloc(size_t size) {
    if (!real_ready()) return early(size);
    void *object = pool_sample(size, _Alignof(max_align_t));
    return object != NULL ? object : real.malloc(size);
}

SLOW void *slow_calloc(size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) return real_ready() ? real.calloc(count, size) : NULL;
    if (!real_ready()) return early(all);
    void *object = pool_sample(all, _Alignof(max_align_t));
    return object != NULL ? object : real.calloc(count, size);
}

SLOW void slow_free(void *object) {
    if (pool_has(object)) pool_free(object);
}

static void *moved(void *object, size_t old, void *place, size_t size) {
    if (place == NULL) return NULL;
    memcpy(place, object, old < size ? old : size);
    free(object);
    return place;
}

/* The allocator says what size 0 means. */
SLOW void *realloc_special(void *object, size_t size) {
    if (!pool_has(object)) return moved(object, size_before(object), malloc(size), size);
    pool_must_be_live(object);
    if (size != 0) return moved(object, pool_size_of(object), malloc(size), size);
    pool_free(object);
    return real.realloc(real.malloc(1), 0);
}

SLOW void *slow_realloc(void *object, size_t size) {
    if (object == NULL) return slow_malloc(size);
    if (!real_ready()) return NULL;
    void *place = NULL;
    if (size != 0 && real.malloc_usable_size != NULL) place = pool_sample(size, _Alignof(max_align_t));
    return place != NULL ? moved(object, real.malloc_usable_size(object), place, size) : real.realloc(object, size);
}

EXPORTED void *malloc(size_t size) {
    return guard_passes() ? real.malloc(size) : slow_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size) {
    return guard_passes() ? real.calloc(count, size) : slow_calloc(count, size);
}

EXPORTED void free(void *object) {
    if (is_special(object)) slow_free(object);
    else real.free(object);
}

EXPORTED void *realloc(void *object, size_t size) {
    if (is_special(object)) return realloc_special(object, size);
    return guard_passes() ? real.realloc(object, size) : slow_realloc(object, size);
}

EXPORTED void *reallocarray(void *object, size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(object, all);
}

/* NULL: the allocator's function is to be called, which knows what a wrong alignment means. */
static void *aligned_sample(size_t alignment, size_t size) {
    if (guard_passes() || alignment == 0 || (alignment & (alignment - 1)) != 0) return NULL;
    return pool_sample(size, alignment > _Alignof(max_align_t) ? alignment : _Alignof(max_align_t));
}

EXPORTED void *memalign(size_t alignment, size_t size) {
    if (!real_ready() || real.memalign == NULL) return NULL;
    void *object = aligned_sample(alignment, size);
    return object != NULL ? object : real.memalign(alignment, size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size) {
    if (!real_ready() || real.aligned_alloc == NULL) return NULL;
    void *object = aligned_sample(alignment, size);
    return object != NULL ? object : real.aligned_alloc(alignment, size);
}

EXPORTED int posix_memalign(void **result, size_t alignment, size_t size) {
    if (!real_ready() || real.posix_memalign == NULL) return ENOMEM;
    void *object = alignment % sizeof(void *) == 0 ? aligned_sample(alignment, size) : NULL;
    if (object == NULL) return real.posix_memalign(result, alignment, size);
    *result = object;
    return 0;
}

EXPORTED void *valloc(size_t size) {
    return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORTED void *pvalloc(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size > SIZE_MAX - page) return NULL;
    return memalign(page, (size + page - 1) / page * page);
}

EXPORTED size_t malloc_usable_size(void *object) {
    if (object == NULL) return 0;
    if (pool_has(object)) return pool_size_of(object);
    if (is_special(object)) return size_before(object);
    return real_ready() && real.malloc_usable_size != NULL ? real.malloc_usable_size(object) : 0;
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

/* Objects of the allocator's own operators are not guarded. */
uint64_t operators_mark(void) {
    return 0;
}

void operators_found(const void *object, uint64_t mark, size_t size, size_t alignment) {
    (void)object, (void)mark, (void)size, (void)alignment;
}

static void before_fork(void) {
    if (unwinder_locks()) unwind_before_fork();
}
static void after_fork(void) {
    if (unwinder_locks()) unwind_after_fork();
}
static void in_child(void) {
    unwind_in_child();
    pool_in_child();
    report_in_child();
    fault_in_child();
}

static long number_in(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? atol(text) : 0;
}

/* Runs before main. What the program's libraries have allocated by then is not guarded. */
__attribute__((constructor)) static void guard_begin(void) {
    long rate = number_in("JW_GUARD_RATE"), slots = number_in("JW_GUARD_SLOTS");
    if (rate <= 0 || slots <= 0) return;
    report_begin(getenv("JW_GUARD_OUTPUT"));
    if (!unwind_begin(true) || !pool_begin(rate, (uint32_t)slots)) {
        static const char said[] = "jw guard: no memory or no unwinder: nothing is guarded\n";
        (void)!write(STDERR_FILENO, said, sizeof said - 1);
        return;
    }
    pthread_atfork(before_fork, after_fork, in_child);
    fault_begin();
}
