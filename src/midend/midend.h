/* midend.h - the midend: objects too large to share a granule and too small for ranges of their own (2 KB to 16 KB).
 *
 * A mid slab is a range of several granules cut into 4 to 30 equal objects, shared by all threads. It has no header:
 * its state is one word in the link table (at its second granule, where no range begins), and it waits in a Nest by
 * that range's own records.
 *
 *   word   | 30 listed | 29..0 one bit an object: free |
 *
 *   state     listed  free bits   leaves it by
 *   full      0       none        free: sets the bit and LISTED in one step; that thread places the slab
 *   partial   1       some        allocate: takes the slab from the Nest, clears a bit, places it again; clearing the
 *                                 last bit clears LISTED too and the slab stays out
 *   empty     1       all         stays as its class's only one until the next round, else: take it from the Nest, give
 *                                 the range back
 *
 * LISTED means: in the Nest, deferred, or in the hands of a thread that will place it. Only who took a slab out of the
 * Nest clears bits. Progress: lock-free, as Nest. Invariant: LISTED exactly if a bit is set.
 */
#ifndef JW_MIDEND_H
#define JW_MIDEND_H

#include <stdbool.h>
#include <stddef.h>

#include "config/geometry.h"
#include "config/statistics_types.h"

/* Computes the shapes of the slabs. Called once, by the first slow path. */
void midend_start(void);

/* An object of at least `size` bytes (below BACKEND_MIN) at a multiple of `alignment` (at most GRANULE_SIZE). NULL when
 * there is no memory, or no class has the alignment. */
void *midend_allocate(size_t size, size_t alignment);

/* Frees an object of a mid slab, or says what is wrong with the address and aborts. */
void midend_free(void *object);

/* Usable bytes of an object of a mid slab; 0 when the address is not one. */
size_t midend_usable_size(const void *object);

/* Bytes that midend_allocate(size) gives. */
size_t midend_good_size(size_t size);

void midend_before_fork(void);
void midend_after_fork(bool child);
void midend_statistics(struct midend_statistics *statistics);

#endif
