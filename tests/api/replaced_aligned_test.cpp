// replaced_aligned_test.cpp - a program that replaces new(size, alignment) and delete(object, alignment) only.
#define REPLACES_OBJECTS 1
#define REPLACES_ARRAYS 0
#define REPLACES_ALIGNED 1
#define REPLACES_WITHOUT 0
#define FRONT 64

#include "api/replaced.h"
