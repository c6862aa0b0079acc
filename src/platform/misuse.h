/* misuse.h - reports in one line what a program did wrong with our memory, and ends the process (docs/misuse.md).
 *
 *   jwmalloc: KIND: address 0x..., tier TIER, size class N B, owner thread ID (REMARK)
 *
 * platform/misuse.c prints the line: only the platform can write and abort. Only the layer above the tiers knows what
 * the address is: core/describe.c registers itself here.
 */
#ifndef JW_MISUSE_H
#define JW_MISUSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/serving_tier.h"

/* INVALID_FREE becomes DOUBLE_FREE if the address turns out to be in free or unmapped memory of ours. */
enum misuse { DOUBLE_FREE, INVALID_FREE, INVALID_POINTER, WRONG_SIZE, WRONG_ALIGNMENT, WRITE_AFTER_FREE, OVERFLOW };

/* Prints the line and aborts. Allocates nothing. `number`: the size or alignment that the program gave, or the offset
 * of the first overwritten byte; not used for the first three kinds. */
_Noreturn void misuse(enum misuse kind, const void *address, size_t number);

enum found_state {
    FOUND_FOREIGN,
    FOUND_IN_USE,
    FOUND_INSIDE,
    FOUND_BETWEEN, /* the unused rest behind a slab's objects */
    FOUND_FREE,
    FOUND_FREE_MEMORY,
    FOUND_GONE /* unmapped */
};
enum { OWNER_NONE = 0, OWNER_ENDED = 0x7fffffff };

struct found {
    enum serving_tier tier;
    enum found_state state;
    size_t size;    /* of the tier's objects here; 0: unknown */
    uint32_t owner; /* number of the thread, or one of the above */
};

/* Registers the function that looks up an address. The allocator's start registers core/describe.c's. Before that, and
 * where only some tiers are built, each address counts as foreign. */
typedef void misuse_describe(const void *address, struct found *found);
void misuse_describes(misuse_describe *describe);

#endif
