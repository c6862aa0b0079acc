// replaced_plain_test.cpp - a program that replaces new(size) and delete(object) only, as most do.
#define REPLACES_OBJECTS 1
#define REPLACES_ARRAYS 0
#define REPLACES_ALIGNED 0
#define FRONT 0

#include "api/replaced.h"
