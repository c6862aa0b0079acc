/* new_without_runtime.c - operator new in a program that has no C++ runtime: it works, and at the wall it must end in
 * one line and an abort, for there is nobody to throw to. The death test of the same name asserts the line. */
#include "check.h"

#if UINTPTR_MAX > 0xffffffffu
void *_Znwm(size_t size) __attribute__((weak));
#define operator_new _Znwm
#else
void *_Znwj(size_t size) __attribute__((weak));
#define operator_new _Znwj
#endif
void _ZdlPv(void *object) __attribute__((weak));

int main(void)
{
    if (operator_new == NULL || _ZdlPv == NULL) check_skip("the C library's malloc brings no operator new");
    void *object = operator_new(1000);
    CHECK(object != NULL);
    memset(object, 1, 1000);
    _ZdlPv(object);
    operator_new((size_t)PTRDIFF_MAX - 65536);
    return 0;
}
