/* backend.h - the backend: ranges of whole granules, for large objects and for the slabs of both tiers above.
 *
 * fetch takes a free range and splits it to size (Figure 11, lines 1-8); place joins the range and frees it (lines
 * 10-15). Threads: any. Signals: safe where malloc is. Progress: lock-free. The backend enters the kernel for a new
 * root, above the watermark, and to start or wake the reclamation thread.
 *
 * backend.c has fetch and place; large_object.c has the functions for large objects.
 */
#ifndef JW_BACKEND_H
#define JW_BACKEND_H

#include "backend/range_cache.h"
#include "backend/thrift.h"
#include "config/statistics_types.h"

/* Fetches a range of at least `weight` granules (1 to ROOT_GRANULES) at a multiple of GRANULE_SIZE, if possible in a
 * root of that use. Its leaf word is HELD. *zeroed: whether its memory is known to be zero. NULL when there is no
 * memory. A caller that has no other way gives back what is cached (thrift_make_room), and asks again. */
void *backend_fetch(enum root_use use, uint32_t weight, bool *zeroed);

/* Fetches a granule for a slab; of untouched memory up to *count adjacent ones, at most NODE_SLOTS, each a range of its
 * own. Sets *count to their number. Their leaf words are HELD or NONE. 0: there is no memory. */
granule_id backend_fetch_granules(uint32_t *count, bool *zeroed);

/* Gives back a range from backend_fetch; all leaf words inside it but the first must be NONE again. */
void backend_place(granule_id range);

/* Bytes that an alignment costs: a range may begin at any granule, and the object is moved up to the alignment. */
static inline size_t large_slack(size_t alignment) {
    return alignment > GRANULE_SIZE ? alignment - GRANULE_SIZE : 0;
}

/* Usable bytes of a large object that has `granules` granules. */
static inline size_t large_usable(uint32_t granules) {
    return ((size_t)granules << JW_GRANULE_SHIFT) - LARGE_GUARD;
}

/* Whether a range can have an object of that size and alignment. */
static inline bool fits_range(size_t size, size_t alignment) {
    return size <= BACKEND_MAX && large_slack(alignment) + LARGE_GUARD <= BACKEND_MAX - size;
}

/* Allocates a large object: `size` bytes from BACKEND_MIN to BACKEND_MAX - LARGE_GUARD at a multiple of `alignment`.
 * NULL when there is no memory. */
void *backend_allocate(size_t size, size_t alignment, bool *zeroed);

/* Allocates a large object of at most BACKEND_MAX bytes from the calling thread's range cache. NULL: the cache has no
 * range of the class. */
void *backend_allocate_cached(struct range_cache *cache, size_t size);

/* The first step of a free, for a large object at the start of its range. The caller then holds the range, which is
 * returned. 0: no such object begins at the address, and nothing has changed. */
granule_id backend_try_begin_free(void *object);

/* The second step of a free: caches the range, or frees the range if the cache has no room. */
void backend_cache_range(struct range_cache *cache, granule_id range);

/* Frees a large object, or reports what is wrong with the address and aborts. */
void backend_free(void *object);

/* Hardened build: takes a large object from the program, or reports as backend_free does. The caller then holds the
 * object's range, which is returned. */
granule_id backend_begin_free(void *object);

/* Usable bytes of a large object, without its guard; 0 when none begins at the address. */
size_t backend_usable_size(const void *object);

/* Frees the memory of a large object beyond `size` bytes, as far as ranges can be cut there; the object stays in place.
 * False: no large object begins at the address. The caller has the object: no other thread uses or frees it. */
bool backend_shrink(void *object, size_t size);

/* Makes a large object larger in place, by free ranges behind it. False: they do not suffice; nothing has changed. The
 * caller has the object. */
bool backend_grow(void *object, size_t size);

/* Bytes that backend_allocate(size) gives. */
size_t backend_good_size(size_t size);

void backend_before_fork(void);
void backend_after_fork(bool child);
void backend_statistics(struct backend_statistics *statistics);

#endif
