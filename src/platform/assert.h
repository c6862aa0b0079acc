/* assert.h - invariants of the allocator itself: verified in checked builds, free in release builds.
 *
 * A mistake of the program is not a broken invariant: every build reports it (platform/misuse.h).
 */
#ifndef JW_ASSERT_H
#define JW_ASSERT_H

#include "base/compiler.h"

/* Prints the broken invariant and aborts. */
_Noreturn void invariant_broken(const char *condition, const char *file, int line);

/* A macro, for the text and the line. Every build compiles the condition, so it stays valid. */
#define invariant(condition)                                                                                           \
    do {                                                                                                               \
        if (JW_CHECKED && UNLIKELY(!(condition))) invariant_broken(#condition, __FILE__, __LINE__);                    \
    } while (0)

#endif
