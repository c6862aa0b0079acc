/* shortage.h - when the OS has refused memory: whether to give back what is unused may help, and whether it may help
 * again since the last try. */
#ifndef JW_SHORTAGE_H
#define JW_SHORTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/options.h"
#include "platform/platform.h"

/* With spare_callers: from now on the program's threads may give memory back, or no longer. A request that would fail
 * otherwise does so, and nothing else. */
static inline void thrift_lift_spare(bool lifted) {
    if (option(&options.spare_callers)) platform_spare_callers(lifted ? SPARE_LIFTED : SPARE_LOWERED);
}

/* The OS has refused `size` bytes of addresses (of a huge object: huge_addresses). Whether giving back all unused
 * memory may help. */
wide_bool thrift_may_help(size_t size);

/* Returns a sign. It most likely differs from the last call's if ranges, roots or mappings have come or gone since
 * then, or if a round was asked for. */
uint64_t thrift_change_stamp(void);

#endif
