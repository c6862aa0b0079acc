/* size_classes.h - the frontend's size classes (table: tools/size_classes.py). */
#ifndef JW_SIZE_CLASSES_H
#define JW_SIZE_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/geometry.h"
#include "config/policy.h"
#include "config/size_classes_table.h"

struct size_class {
    uint16_t size;               /* of an object */
    uint16_t capacity, batch;    /* objects of a slab; objects that are linked at a time, about a page of them */
    uint16_t cache_room;         /* objects that a heap may cache (frontend/object_cache.h) */
    uint16_t budget;             /* of a local list: frees until it needs attention */
    uint16_t frees_until_reopen; /* frees by the owner until a full slab is reopened (frontend/slab.h) */
    uintptr_t reciprocal, last;  /* floor(W / size) + 1, W = 2^(bits of a word); see size_class_last */
};

extern const struct size_class size_classes[SIZE_CLASS_COUNT];
extern const uint8_t size_class_index[FRONTEND_MAX / 8];

enum { LEAST_ALIGNED_SHIFT = 5 }; /* the first row's alignment; all classes but that of 8 bytes are aligned to 16 */
extern const uint8_t size_class_aligned[];

/* Class of a request of 1 to FRONTEND_MAX bytes. */
static inline unsigned size_class_of(size_t size) {
    return size_class_index[(size - 1) / 8];
}

static inline unsigned size_class_capacity(unsigned class) {
    return size_classes[class].capacity;
}

/* An address n bytes after the first object is an object exactly if n * reciprocal (mod W) <= last. Why, with
 * e = reciprocal * size - W, which is 1 to size, and last = (capacity - 1) * e:
 *
 *   1  The i-th object gives i * e: at most `last` for those of the slab, capacity * e for the place behind them.
 *   2  An address between two objects gives about `reciprocal` or more, one before the first object nearly W: both are
 *      above `last`. With 64 bits this holds for all distances, with 32 bits for those in and around a slab.
 *   3  If the owner changes the record meanwhile, reciprocal and last may be of two classes. Only an address of another
 *      place that shares the slab's index is compared then. It is at least n objects away, n = half of the first window
 *      / FRONTEND_MAX, less one, and gives n or more. No class's last is more than a granule, which is less. */
#if UINTPTR_MAX > 0xffffffffu && JW_WINDOW_SHIFT >= LARGE_WINDOW_SHIFT
_Static_assert(((size_t)1 << JW_FIRST_WINDOW_SHIFT) / 2 / FRONTEND_MAX > GRANULE_SIZE + 1,
               "another slab's address is far");
#endif
static inline uintptr_t size_class_last(unsigned class) {
    return size_classes[class].last;
}

/* The largest power of two that every object of the class is aligned to. */
static inline size_t size_class_alignment(unsigned class) {
    size_t size = size_classes[class].size;
    return size & -size;
}

/* Class of a request of 1 to FRONTEND_MAX bytes at a multiple of 32 or a larger power of two, at most FRONTEND_MAX.
 * SIZE_CLASS_COUNT: none. */
static inline unsigned size_class_of_aligned(size_t alignment, size_t size) {
    unsigned row = (unsigned)__builtin_ctzll(alignment) - LEAST_ALIGNED_SHIFT;
    return size_class_aligned[row * SIZE_CLASS_COUNT + size_class_of(size)];
}

/* A coarse class: its size is one of JW_COARSE_SIZES; the classes between the next smaller one of these and it are its
 * finer ones. While a heap has few objects of these sizes, all come from slabs of the coarse class. A slab for each
 * class would be mostly empty (frontend/size_map.h). A power of two has each alignment that a smaller class has. */
static inline unsigned size_class_coarse(unsigned class) {
    unsigned coarse = class;
    while (coarse < SIZE_CLASS_COUNT && (size_class_alignment(coarse) & JW_COARSE_SIZES) != size_classes[coarse].size)
        coarse++;
    return coarse < SIZE_CLASS_COUNT ? coarse : class;
}

/* The sizes that malloc may serve from each class, its own and those of which it is the coarse class. They follow one
 * another. */
extern const struct sizes_served {
    uintptr_t least[SIZE_CLASS_COUNT], count[SIZE_CLASS_COUNT];
} sizes_served;

/* Whether the size, which may be any, is one that the table has for the class. */
static ALWAYS_INLINE bool size_is_served(const struct sizes_served *served, uint8_t class, size_t size) {
    return size - served->least[class] < served->count[class];
}

/* Whether malloc of the size, which may be any, may give objects of the class. */
static ALWAYS_INLINE bool size_class_serves(uint8_t class, size_t size) {
    return size_is_served(&sizes_served, class, size);
}

/* All object sizes, in bytes, are multiples of this. */
#define SMALLEST_OBJECT 8

/* More objects than a list of free objects has: all of one slab, and cached ones of others. A longer list is a circle,
 * which some other misuse has made. */
enum { LIST_MOST = 2 * GRANULE_SIZE / SMALLEST_OBJECT };

_Static_assert(FRONTEND_MAX <= GRANULE_SIZE / 2, "a slab holds at least two objects");

#endif
