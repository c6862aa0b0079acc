/* huge.h - objects above a root's size: a mapping each, at a multiple of ROOT_SIZE, so that its first granule's leaf
 * word tells.
 *
 * The mapping claims its slot of the window like a root and keeps its size (in granules) in the node word of its first
 * granule: lookup costs what it costs for any object, and there is no list and no lock.
 */
#ifndef JW_HUGE_H
#define JW_HUGE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/statistics_types.h"

/* `size` zero bytes at a multiple of `alignment` (any power of two). NULL when the OS refuses. */
void *huge_allocate(size_t size, size_t alignment);

/* Frees a huge object, or says what is wrong with the address and aborts. */
void huge_free(void *object);

/* Usable bytes; 0 when the address is not a huge object. */
size_t huge_usable_size(const void *object);

/* Bytes that huge_allocate(size) gives; 0 when that overflows. */
size_t huge_good_size(size_t size);

/* Changes the size in place or by moving pages, without copying; what is cut off goes back to the OS at once. NULL when
 * the OS refuses to make it larger: then nothing has changed. `size` may be what a range could hold: the object stays
 * huge. */
void *huge_resize(void *object, size_t size);

/* Bytes of all of them together. */
size_t huge_in_use(void);

void huge_statistics(struct huge_statistics *statistics);

#endif
