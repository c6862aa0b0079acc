#include "config/size_classes.h"

#include "base/compiler.h"

#define RECIPROCAL(size) ((UINTPTR_MAX - (size) + 1) / (size) + 2)
#define CAPACITY(size) (GRANULE_SIZE / (size))
#define LOOSE(size) (!JW_SECURE && CAPACITY(size) <= JW_LOOSE_CAPACITY ? JW_LOOSE : 0)
#define PATIENCE(size) (LOOSE(size) > 0 || CAPACITY(size) < JW_PATIENCE ? 1 : CAPACITY(size) / JW_PATIENCE)
#define ROW(size)                                                                                                      \
    {size,                                                                                                             \
     CAPACITY(size),                                                                                                   \
     4096 / (size) + 1,                                                                                                \
     LOOSE(size),                                                                                                      \
     LOOSE(size) > 0 ? LOOSE(size) : JW_LOCAL_FREES,                                                                   \
     PATIENCE(size),                                                                                                   \
     RECIPROCAL(size),                                                                                                 \
     (CAPACITY(size) - 1) * (RECIPROCAL(size) * (size))},
const struct size_class size_classes[SIZE_CLASS_COUNT] = {SIZE_CLASS_TABLE(ROW)};

const uint8_t size_class_index[FRONTEND_MAX / 8] = {SIZE_CLASS_INDEX};
