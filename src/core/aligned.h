/* aligned.h - objects at a multiple of a power of two, and what a size gets. */
#ifndef JW_ALIGNED_H
#define JW_ALIGNED_H

#include <stddef.h>

/* Allocates at a multiple of `alignment`, a power of two. Size 0 counts as 1. NULL and ENOMEM: there is no memory. */
void *allocate_aligned(size_t alignment, size_t size);

/* Returns the usable bytes of allocate_aligned's object. The object may have more, because a coarse class is larger.
 * For alignments above a granule it may have fewer. 0: no object can be so large. */
size_t good_size(size_t alignment, size_t size);

#endif
