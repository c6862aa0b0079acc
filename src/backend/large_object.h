/* large_object.h - large objects: each has a range of its own.
 *
 *   | range: granules, the weight in S(3)                                |
 *   | offset: of an aligned object | object | slack | guard (hardened)   |
 *
 * The leaf of the range's first granule is LARGE and has the offset (leaf_word.h). If the offset is 0, the leaf of the
 * second granule has the weight: free reads it there, and after the free it is a trace. Of two threads that free the
 * same object, one changes the leaf from LARGE to HELD, and goes on. Threads: any. Progress: lock-free; it enters the
 * kernel as backend.h says. Clients large_*.
 */
#ifndef JW_LARGE_OBJECT_H
#define JW_LARGE_OBJECT_H

#include "backend/range_cache.h"
#include "config/geometry.h"

/* Bytes that an alignment costs: a range may begin at any granule, and the object is moved up to the alignment. */
static inline size_t large_slack(size_t alignment) {
    return alignment > GRANULE_SIZE ? alignment - GRANULE_SIZE : 0;
}

/* Bytes that the program may use in so many granules. */
static inline size_t large_bytes_in(uint32_t granules) {
    return ((size_t)granules << JW_GRANULE_SHIFT) - LARGE_GUARD;
}

/* Whether a range can have an object of that size and alignment. */
static inline bool large_fits(size_t size, size_t alignment) {
    return size <= BACKEND_MAX && large_slack(alignment) + LARGE_GUARD <= BACKEND_MAX - size;
}

/* Allocates `size` bytes, from BACKEND_MIN to BACKEND_MAX - LARGE_GUARD, at a multiple of `alignment`. *zeroed: whether
 * the memory is known to be zero. NULL when there is no memory. */
void *large_allocate(size_t size, size_t alignment, bool *zeroed);

/* The same of an object without an alignment, from a range that may have pages. */
void *large_allocate_mapped(size_t size);

/* Allocates at most BACKEND_MAX bytes from the calling thread's range cache. NULL: the cache has no range of the
 * class. */
void *large_allocate_cached(struct range_cache *cache, size_t size);

/* The first step of a free, for an object at the start of its range. The caller then holds the range, which is
 * returned. 0: no such object begins at the address, and nothing has changed. */
granule_id large_try_begin_free(void *object);

/* The second step of a free: caches the range, or frees the range if the cache has no room. */
void large_cache(struct range_cache *cache, granule_id range);

/* Frees an object, or reports what is wrong with the address and aborts. */
void large_free(void *object);

/* Hardened build: takes an object from the program, or reports as large_free does. The caller then holds the object's
 * range, which is returned. */
granule_id large_begin_free(void *object);

/* Hardened build: makes a range that the caller holds an object, which begins where the range begins. */
void *large_allocate_held(granule_id range);

/* Usable bytes of an object, without its guard; 0 when none begins at the address. */
size_t large_usable_size(const void *object);

/* Whether a large object has what a new one of `size` bytes would get: then realloc has nothing to do. False also if no
 * large object begins at the address, or if the answer would take a longer look. */
wide_bool large_serves(const void *object, size_t size);

/* Frees the memory of an object beyond `size` bytes, as far as ranges can be cut there; the object stays in place.
 * False: no large object begins at the address. The caller has the object: no other thread uses or frees it. */
bool large_shrink(void *object, size_t size);

/* Makes an object larger in place, by free ranges behind it. False: they do not suffice; nothing has changed. The
 * caller has the object. */
bool large_grow(void *object, size_t size);

/* Bytes that large_allocate(size) gives. */
size_t large_good_size(size_t size);

#endif
