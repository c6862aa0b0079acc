/* dispatch_android.c - bionic's table (dispatch_tests.h). */
#define DISPATCH_ANDROID 1
#include "dispatch_tests.h"
