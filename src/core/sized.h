/* sized.h - free with a size or an alignment. */
#ifndef JW_SIZED_H
#define JW_SIZED_H

#include <stddef.h>
#include <stdint.h>

#include "config/size_classes.h"
#include "core/free.h"
#include "frontend/thread_heap.h"

#define SIZE_UNKNOWN SIZE_MAX

/* Frees an object, NULL too, or reports that it does not have the alignment (1: any) and size that the program says. */
void free_aligned_of_size(void *object, size_t alignment, size_t size);

/* Frees as free_aligned_of_size with alignment 1. */
void free_of_size(void *object, size_t size);

/* The same, for what free_own_of_size refuses: an object of another thread, or of no slab, or with a wrong size. */
void free_of_size_slowly(void *object, size_t size);

/* The hit path: if the table has the size for the slab's class, free goes on as in free.c. False: nothing is done. The
 * record of an address that is in no slab may name any class, but its key is 0. */
static ALWAYS_INLINE bool free_own_of_size(const struct sizes_served *served, void *object, size_t size) {
    struct slab *slab = slab_of(object);
    uint64_t key = thread_key();
    bool right = size_is_served(served, slab->class, size);
    if (UNLIKELY(!(right && slab_has_key(slab, key)))) return false;
    free_own(slab, object, key);
    return true;
}

#endif
