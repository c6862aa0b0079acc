/* lse.h - which of AArch64's atomic operations the processor has (base/atomics.h). */
#ifndef JW_LSE_H
#define JW_LSE_H

#include "base/compiler.h"

/* Called at the start. Before it, and where the processor has no LSE, operations are pairs of loads and stores. */
#if JW_LSE_CALLS
extern HIDDEN uint32_t jw_lse_is_there;
void lse_start(void);
#else
static inline void lse_start(void) {
}
#endif

#endif
