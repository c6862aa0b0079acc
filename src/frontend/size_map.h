/* size_map.h - which class a heap gives each size: heap->size_map, which malloc reads.
 *
 * A new heap's map sends a size to its coarse class (config/size_classes.h). The finer classes open for good: the heap
 * keeps its map when its thread ends. Slabs that are there keep their class.
 *
 * coarse_slabs[class], of a coarse class: slabs still to come into use before its finer classes open. 0: they are open,
 * or there are none.
 *
 * The first heap's classes are open from the start, unless the policy is JW_COARSE_FIRST.
 *
 * budget[class] goes with it: frees to a new local list until it needs attention, fewer while the class is coarse.
 *
 * Invariant: each entry of the map is the size's own class, if coarse_slabs of the coarse class is 0, else the coarse
 * one; or DISABLED. All of it belongs to the heap's thread, but for DISABLED, which another thread writes (disable.h).
 * So the entries of a map that is made are atomic, each a byte.
 */
#ifndef JW_SIZE_MAP_H
#define JW_SIZE_MAP_H

#include "frontend/heap.h"

/* Makes a new heap's map. */
void size_map_start(struct heap *heap);

/* Writes each entry as the counts say. It may wait, as malloc does (disable.h). */
void size_map_write(struct heap *heap);

/* Class of a request of 1 to FRONTEND_MAX bytes. */
unsigned size_map_class(const struct heap *heap, size_t size);

/* Opens the finer classes of a coarse one. */
void size_map_open(struct heap *heap, unsigned coarse);

/* Counts a slab of the class that comes into use. */
static inline void size_map_count_slab(struct heap *heap, unsigned class) {
    if (heap->coarse_slabs[class] > 0 && --heap->coarse_slabs[class] == 0) size_map_open(heap, class);
}

/* Counts a slab of the class that has become empty. */
static inline void size_map_count_empty(struct heap *heap, unsigned class) {
    if (heap->coarse_slabs[class] > 0) heap->coarse_slabs[class]++;
}

#endif
