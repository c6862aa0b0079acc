#include "config/size_classes.h"

#define RECIPROCAL(size) ((uint32_t)(0x100000000ull / (size) + 1))
#define CAPACITY(size, origin) ((GRANULE_SIZE - (origin)) / (size))
#define ROW(size, origin)                                                                                              \
    {size,                                                                                                             \
     origin,                                                                                                           \
     CAPACITY(size, origin),                                                                                           \
     4096 / (size) + 1,                                                                                                \
     RECIPROCAL(size),                                                                                                 \
     (uint32_t)(CAPACITY(size, origin) - 1) * (RECIPROCAL(size) * (uint32_t)(size)) + 1},
const struct size_class size_classes[SIZE_CLASS_COUNT] = {SIZE_CLASS_TABLE(ROW)};

const uint8_t size_class_index[FRONTEND_MAX / 8] = {SIZE_CLASS_INDEX};
