/* dispatch_openharmony4.c - the table of OpenHarmony's musl of older versions (dispatch_tests.h). */
#define DISPATCH_OPENHARMONY 4
#include "dispatch_tests.h"
