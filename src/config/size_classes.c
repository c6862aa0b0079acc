#include "config/size_classes.h"

#define ROW(size, origin) {size, origin, (uint32_t)(0x100000000ull / (size) + 1)},
const struct size_class size_classes[SIZE_CLASS_COUNT] = {SIZE_CLASS_TABLE(ROW)};
#undef ROW

const uint8_t size_class_index[FRONTEND_MAX / 8] = {SIZE_CLASS_INDEX};
