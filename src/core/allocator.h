/* allocator.h - the three tiers as one allocator.
 *
 * Sizes above PTRDIFF_MAX and lack of memory give NULL and ENOMEM. An address that is no live object of ours ends the
 * process with one line, wherever the allocator can recognize it.
 */
#ifndef JW_ALLOCATOR_H
#define JW_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "frontend/heap.h"

/* The hit paths (allocate.c, deallocate.c). */
void *allocate(size_t size);
void deallocate(void *object);

#if !JW_SECURE
/* The exported names: the same functions; in the hardened build those of hardened/entry.h, which call them. */
void *jw_malloc(size_t size);
void jw_free(void *object);
#endif

/* Requests that the hit path cannot serve: the local list is empty. `list`: its index in heap->first; that of NO_CLASS
 * is for size 0 and sizes above the frontend's. */
void *allocate_slowly(struct heap *heap, size_t size, unsigned list);

/* Frees that the hit path cannot do: NULL, objects of the other tiers, misuse. */
void deallocate_slowly(void *object, struct leaf_word leaf);

void *allocate_zeroed(size_t size);
void *allocate_aligned(size_t alignment, size_t size);

/* `object` is not NULL, `size` not 0. NULL: the object has not changed. */
void *reallocate(void *object, size_t size);

/* Usable bytes of a live object. size_if_live: 0 when there is no live object (hardened build). */
size_t size_if_live(const void *object);
size_t object_size(const void *object);

/* Usable bytes that allocate_aligned would give at least (of a coarse class: more), for alignments above a granule at
 * most; 0 when no object can be so large. */
size_t good_size(size_t alignment, size_t size);

/* Frees an object, or reports that it does not have the alignment (1: any) and size that the program says. */
#define SIZE_UNKNOWN SIZE_MAX
void deallocate_sized(void *object, size_t alignment, size_t size);

/* Whether realloc has ever left an object in a larger class than its new size: from then on a sized free must accept
 * such objects. relaxed: the thread that frees the object knows of its realloc. */
extern _Atomic(bool) shrunk_in_place HIDDEN;

/* realloc leaves an object in place if the new size fits and uses more than half of it, or if the object is so small
 * that a copy saves nothing. */
static ALWAYS_INLINE bool stays(size_t old, size_t size) {
    return size <= old && (size > old / STAYS_PART || old <= STAYS_MOST);
}

/* Reads the options and makes the tables, once. Every slow path that may be the first calls it. False when there is no
 * memory for the tables. */
bool allocator_start(void);

#endif
