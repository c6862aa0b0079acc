// header.cpp - <jwmalloc.h> is clean C++ in the oldest dialect that our users have; compiling it is the test.
#include <jwmalloc.h>

int main() {
    void *object = jw_malloc(10);
    jw_free(object);
    return object == 0;
}
