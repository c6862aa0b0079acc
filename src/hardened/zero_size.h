/* zero_size.h - objects of size 0 in the hardened build: each has an address of its own, in a region without access.
 *
 *   region    | 16 B | 16 B | 16 B | ...    without access
 *   bits      one bit an address: in use. 0 -> 1 malloc, 1 -> 0 free, each by a read-modify-write
 *
 * Which free address is given out is random. Threads: any. Order: a free comes before the malloc that gives its
 * address out again (ZS1, ZS2), as C asks for. Of two threads that free the same address, one finds the bit 0.
 * Progress: wait-free; malloc looks at a few words of bits, and takes an ordinary object if these are full.
 * Verified by verify/clients/zero_size.c.
 */
#ifndef JW_ZERO_SIZE_H
#define JW_ZERO_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* Reserves the region. Called once, at the start. If there is no memory, there is no region. */
void zero_size_start(void);

/* Allocates an address of the region. The alignment is a power of two. NULL: the caller must take an ordinary object.
 */
void *zero_size_allocate(size_t alignment);

/* Whether the address is in the region. */
bool zero_size_owns(const void *address);

/* Frees an address of the region, or reports what is wrong with it and aborts. */
void zero_size_free(const void *address);

/* Reports an address of the region that is not in use. */
void zero_size_check(const void *address);

#endif
