/* size_classes.c - the tables of the frontend's size classes, made from size_classes_table.h. */
#include "config/size_classes.h"

#include "base/compiler.h"
#include "config/policy.h"

#define RECIPROCAL(size) ((UINTPTR_MAX - (size) + 1) / (size) + 2)
#define CAPACITY(size) (GRANULE_SIZE / (size))
#define CACHE_ROOM(size) (!QUARANTINED && CAPACITY(size) <= JW_CACHED_SLAB_OBJECTS ? JW_OBJECT_CACHE_ENTRIES : 0)
#define FREES_UNTIL_REOPEN(size)                                                                                       \
    (CACHE_ROOM(size) > 0 || CAPACITY(size) < JW_REOPEN_SHARE ? 1 : CAPACITY(size) / JW_REOPEN_SHARE)
#define ROW(size)                                                                                                      \
    {size,                                                                                                             \
     CAPACITY(size),                                                                                                   \
     LINKED_BYTES / (size) + 1,                                                                                        \
     CACHE_ROOM(size),                                                                                                 \
     CACHE_ROOM(size) > 0 ? CACHE_ROOM(size) : JW_LOCAL_FREES,                                                         \
     FREES_UNTIL_REOPEN(size),                                                                                         \
     RECIPROCAL(size),                                                                                                 \
     (CAPACITY(size) - 1) * (RECIPROCAL(size) * (size))},
#define IS_MULTIPLE(size) &&(size) % SMALLEST_OBJECT == 0
_Static_assert(1 SIZE_CLASS_TABLE(IS_MULTIPLE), "no class has smaller objects");

const struct size_class size_classes[SIZE_CLASS_COUNT] = {SIZE_CLASS_TABLE(ROW)};

#define IS_COARSE(size) (JW_COARSE_SLABS > 0 && ((size) & ((size)-1)) == 0 && (JW_COARSE_SIZES & (size)))
#define COARSE_BELOW(size) ((size) / 2 & JW_COARSE_SIZES ? (size) / 2 : (size) / 8)
#define BELOW(before, size) (IS_COARSE(size) && COARSE_BELOW(size) < (before) ? COARSE_BELOW(size) : (before))
#define LEAST_SERVED(before, size) BELOW(before, size) + 1,
#define COUNT_SERVED(before, size) (size) - BELOW(before, size),

const struct sizes_served sizes_served = {.least = {SIZE_CLASS_STEPS(LEAST_SERVED)},
                                          .count = {SIZE_CLASS_STEPS(COUNT_SERVED)}};

const uint8_t size_class_index[FRONTEND_MAX / 8] = {SIZE_CLASS_INDEX};

const uint8_t size_class_aligned[] = {SIZE_CLASS_ALIGNED};
