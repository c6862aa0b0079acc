/* real.h - the allocator that a preloaded library of ours passes each call on to. */
#ifndef JW_SHARED_REAL_H
#define JW_SHARED_REAL_H

#include <stdbool.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

struct real {
    void *(*malloc)(size_t); /* NULL: not found yet */
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *); /* may be called at any time */
    size_t (*malloc_usable_size)(void *);
};
__attribute__((visibility("hidden"))) extern struct real real;

/* Finds the functions; false inside of itself, because dlsym may allocate. */
bool real_resolve(void);

static inline bool real_ready(void) {
    return __builtin_expect(real.malloc != NULL, 1) || real_resolve();
}

/* Memory for what dlsym allocates meanwhile. It is never given back. Size is 16 bytes before the object. */
void *early_allocate(size_t size);
bool is_early(const void *object);

/* The size that stands before an object of early_allocate or own_allocate (unwind.h). */
size_t size_before(const void *object);
#endif
