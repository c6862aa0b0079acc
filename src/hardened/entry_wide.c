/* entry_wide.c - malloc and free of small objects by vectors of 32 bytes (entry_steps.h), where the processor has them.
 */
#define JW_WIDE_HERE
#include "platform/wide.h"

#if JW_WIDE
WIDE_BEGINS

#include "hardened/entry_steps.h"

void *malloc_wide(size_t size) {
    return malloc_by(size, true);
}

void free_wide(void *object) {
    free_by(object, true);
}

WIDE_ENDS
#endif
