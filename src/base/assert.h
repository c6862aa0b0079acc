/* assert.h - invariants of the allocator itself: verified in checked builds, free in release builds.
 *
 * What a program can get wrong is not an invariant: that is reported in every build (base/misuse.h).
 */
#ifndef JW_ASSERT_H
#define JW_ASSERT_H

#include "base/compiler.h"

/* Prints the broken invariant and aborts. */
_Noreturn void invariant_broken(const char *condition, const char *file, int line);

/* A macro for the text and the line; the condition is always compiled, so it cannot rot. */
#define invariant(condition)                                                                                           \
    do {                                                                                                               \
        if (JW_CHECKED && UNLIKELY(!(condition))) invariant_broken(#condition, __FILE__, __LINE__);                    \
    } while (0)

#endif
