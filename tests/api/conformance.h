/* conformance.h - includes and sizes that the conformance tests share. They pass on glibc's malloc too: the control. */
#ifndef JW_TESTS_API_CONFORMANCE_H
#define JW_TESTS_API_CONFORMANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "check.h"
#include "entry_points.h"

#define KB ((size_t)1024)
#define MB (1024 * KB)

/* Calls `visit` with every size near a power of two from 1 to `limit`: all borders of all tiers are among them,
 * whatever the granule. */
static inline void for_each_size(size_t limit, void (*visit)(size_t size)) {
    for (size_t size = 1; size <= 8; size++) visit(size);
    for (size_t power = 8; power <= limit; power *= 2) {
        const size_t near[] = {power - 1, power, power + 1, power + power / 8, power + power / 2};
        for (size_t i = 0; i < sizeof near / sizeof *near; i++)
            if (near[i] <= limit) visit(near[i]);
    }
}

/* What C asks of malloc(size): fit for any object of that size. */
static inline size_t natural_alignment(size_t size) {
    return size < 16 ? 8 : 16;
}

static inline bool is_aligned(const void *object, size_t alignment) {
    return ((uintptr_t)object & (alignment - 1)) == 0;
}

#endif
