/* dispatch_openharmony.c - the table of OpenHarmony's musl of newer versions (dispatch_tests.h). */
#define DISPATCH_OPENHARMONY 5
#include "dispatch_tests.h"
