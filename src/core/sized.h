/* sized.h - free with a size or an alignment. */
#ifndef JW_SIZED_H
#define JW_SIZED_H

#include <stddef.h>
#include <stdint.h>

#define SIZE_UNKNOWN SIZE_MAX

/* Frees an object, NULL too, or reports that it does not have the alignment (1: any) and size that the program says. */
void free_aligned_of_size(void *object, size_t alignment, size_t size);

/* Frees as free_aligned_of_size with alignment 1; this is the hit path. */
void free_of_size(void *object, size_t size);

#endif
