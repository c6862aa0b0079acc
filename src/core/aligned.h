/* aligned.h - objects at a multiple of a power of two, and what a size gets. */
#ifndef JW_ALIGNED_H
#define JW_ALIGNED_H

#include <stddef.h>

void *allocate_aligned(size_t alignment, size_t size);

/* Usable bytes that allocate_aligned would give at least (of a coarse class: more), for alignments above a granule at
 * most; 0 when no object can be so large. */
size_t good_size(size_t alignment, size_t size);

#endif
