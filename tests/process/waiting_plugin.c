/* waiting_plugin.c - a library for dlopen whose constructor waits for the program: thread_in_dlopen.c. */
#include "check.h"

enum { TO_PROGRAM = 101, FROM_PROGRAM = 102 };

__attribute__((constructor)) static void load(void) {
    char word = 0;
    CHECK(write(TO_PROGRAM, &word, 1) == 1);
    CHECK(read(FROM_PROGRAM, &word, 1) == 1);
}
