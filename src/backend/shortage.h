/* shortage.h - when the OS has refused memory: whether to give back what is unused may help, and whether it may help
 * again since the last try. */
#ifndef JW_SHORTAGE_H
#define JW_SHORTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* The OS has refused `size` bytes of addresses (of a huge object: huge_addresses). Whether giving back all unused
 * memory may help. */
wide_bool thrift_may_help(size_t size);

/* Returns a sign. It most likely differs from the last call's if ranges, roots or mappings have come or gone since
 * then, or if a round was asked for. */
uint64_t thrift_change_stamp(void);

#endif
