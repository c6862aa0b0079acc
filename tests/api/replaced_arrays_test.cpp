// replaced_arrays_test.cpp - a program that replaces the array forms of operator new and delete only.
#define REPLACES_OBJECTS 0
#define REPLACES_ARRAYS 1
#define REPLACES_ALIGNED 1
#define FRONT 64

#include "api/replaced.h"
