// replaced_test.cpp - a program that replaces four forms of operator new and delete; all others must call these four.
#define REPLACES_OBJECTS 1
#define REPLACES_ARRAYS 0
#define REPLACES_ALIGNED 1
#define FRONT 64

#include "api/replaced.h"
