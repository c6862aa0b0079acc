/* allocator.h - the three tiers as one allocator: routes each size to its tier. Nothing here is inlined into the hit
 * paths.
 *
 * Sizes above PTRDIFF_MAX and memory that is not there give NULL and ENOMEM. Addresses that are not live objects of
 * ours end the process with one line, wherever they can be told.
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
/* The same functions by their exported names, which in the hardened build are those around them (hardened/entry.h). */
void *jw_malloc(size_t size);
void jw_free(void *object);
#endif

/* What the hit path could not serve: no object at hand; NO_CLASS: size 0, or a size above the frontend's. */
void *allocate_slowly(struct heap *heap, size_t size, unsigned place);

/* What the hit path could not free: NULL, objects of the other tiers, misuse. */
void deallocate_slowly(void *object, struct leaf_word leaf);

void *allocate_zeroed(size_t size);
void *allocate_aligned(size_t alignment, size_t size);

/* `object` is not NULL, `size` not 0. NULL: the object is as it was. */
void *reallocate(void *object, size_t size);

/* Usable bytes of a live object; size_if_live: 0 when it is none (hardened build). */
size_t size_if_live(const void *object);
size_t object_size(const void *object);

/* Usable bytes that allocate_aligned would give, for alignments above a granule at most; 0 when no object can be so
 * large. */
size_t good_size(size_t alignment, size_t size);

/* Frees an object that the program takes for one of that alignment (1: any) and size, or tells that it is not. */
#define SIZE_UNKNOWN SIZE_MAX
void deallocate_sized(void *object, size_t alignment, size_t size);

/* Whether realloc has returned any object that is of a larger class than its size now: from then on a sized free has to
 * take what realloc may leave so. A hint: the thread that frees the object knows of its realloc. */
extern _Atomic(bool) shrunk_in_place HIDDEN;

/* An object stays where it is when it fits and would not leave half of it unused. */
static ALWAYS_INLINE bool stays(size_t old, size_t size) {
    return size <= old && (size > old / 2 || old <= 32);
}

/* Reads the options and makes the tables, once; called by every slow path that may be the first. False when there is no
 * memory for them. */
bool allocator_start(void);

#endif
