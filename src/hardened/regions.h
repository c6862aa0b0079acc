/* regions.h - in the hardened build, memory that was once a slab of a class, or a large object of a range class, stays
 * with this class: its addresses are kept, and its pages go back to the OS. So a pointer to a freed object never leads
 * into an object of another class. A large object's range is called a slab here, too.
 *
 *   slab      in use -> fresh -> idle -> without pages -> in use
 *             a round: fresh becomes idle, idle loses its pages
 *             no reclamation thread, and more than cache_min waits: in use -> without pages
 *
 * A large object's range that had a guard keeps it, until the range goes to the backend. Meanwhile it is
 *
 *   open      with pages, at most LARGE_OPEN bytes: zero, which malloc verifies. No system call is needed
 *   closed    all others: without access
 *
 * Each class of the frontend, of the midend and of ranges has a stack of each age (region_stack.h). Slabs come from
 * roots of their own, so they never were a large object either, unless no other root could be had. Only a thread that
 * finds no memory gives all of this up. Verified by verify/clients/regions_*.c.
 */
#ifndef JW_REGIONS_H
#define JW_REGIONS_H

#include <stdatomic.h>

#include "backend/root.h"
#include "backend/thrift_counters.h"
#include "config/policy.h"

/* As guarded_fetch and guarded_place (guard.h), for a slab of that region (backend/slab_source.h). *zeroed: nothing but
 * zeros, and trailers of the same class. */
void *region_fetch(unsigned region, uint32_t weight, bool *zeroed);
void region_place(unsigned region, granule_id range, uint32_t weight);

/* As region_fetch, for a large object. 0: none of the class waits. *zeroed: nothing but zeros. All of the range is
 * accessible. */
granule_id region_fetch_large(uint32_t weight, bool *zeroed);

/* The same, of ranges that have kept their guard, which is counted. *empty: the range has no pages. Else it is zero,
 * unless the program has written to it. 0 also if the OS refuses to open it. */
granule_id region_fetch_guarded(uint32_t weight, bool *empty);

/* Whether a range of so many bytes that has kept its guard waits open while it has pages. */
static inline bool region_waits_open(size_t bytes) {
    return bytes <= LARGE_OPEN;
}

/* Keeps the range that a large object had. `guarded`: it has kept its guard, which is counted, and it is open or closed
 * as above, and zero; else all of it is accessible. `empty`: it has no pages, and is closed if it is guarded. The range
 * goes to the backend if too many addresses wait, or if memory has run out once, or where pages are larger than
 * granules: two ranges may share one. */
void region_place_large(granule_id range, bool guarded, bool empty);

/* Gives all empty slabs to the backend, for any use, and ranges whose guards could not be opened before. Called when
 * there is no memory. False: there were none. */
bool regions_give_up(void);

/* Registers the work for rounds, guards' included. */
void regions_start(void);

/* Bytes that no program has, but that the backend counts as in use: empty slabs, the guards of others, and large
 * objects in quarantine. [0]: ranges with pages; [1]: ranges without. The limits do not count the latter. */
extern _Atomic(size_t) unused_bytes[2] HIDDEN;

static inline void unused_note(bool without_pages, size_t more) {
    atomic_fetch_add_explicit(&unused_bytes[without_pages], more, memory_order_relaxed);
    if (without_pages) other_bytes_add(-(intptr_t)more);
}

#endif
