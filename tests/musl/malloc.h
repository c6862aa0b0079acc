/* malloc.h - for tests on musl: its own, and the names that our library serves and musl does not have. */
#ifndef JW_TESTS_MUSL_MALLOC_H
#define JW_TESTS_MUSL_MALLOC_H

#include_next <malloc.h>
#include <stddef.h>
#include <stdio.h>

struct mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

void *pvalloc(size_t size);
int malloc_trim(size_t pad);
struct mallinfo mallinfo(void);
struct mallinfo2 mallinfo2(void);
int malloc_info(int options, FILE *stream);
void malloc_stats(void);
int mallopt(int parameter, int value);

enum {
    M_MXFAST = 1,
    M_TRIM_THRESHOLD = -1,
    M_TOP_PAD = -2,
    M_MMAP_THRESHOLD = -3,
    M_MMAP_MAX = -4,
    M_CHECK_ACTION = -5,
    M_PERTURB = -6,
    M_ARENA_TEST = -7,
    M_ARENA_MAX = -8
};

#endif
