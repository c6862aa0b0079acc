/* huge.h - objects with a mapping each: those above a root's size, and large ones when the window is full.
 *
 * The kernel chooses the place, at a multiple of a granule and of an OS page. The directory (directory.h) has the
 * object's size. An object takes no slot of the window. A lookup comes here only with an address that is in no root of
 * ours. There is no list and no lock.
 */
#ifndef JW_HUGE_H
#define JW_HUGE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/statistics_types.h"

/* `size` zero bytes at a multiple of `alignment` (any power of two). NULL when the OS refuses. */
void *huge_allocate(size_t size, size_t alignment);

/* Frees a huge object. False: no huge object in use begins at the address. */
bool huge_free_if_live(void *object);

/* The same, or reports what is wrong with the address and aborts. */
void huge_free(void *object);

/* Usable bytes; 0 when the address is not a huge object. */
size_t huge_usable_size(const void *object);

/* Bytes that huge_allocate(size) gives; 0 when no object can be so large (16 TB, with granules of 4 KB). */
size_t huge_good_size(size_t size);

/* Changes the size in place or by moving pages, without copying. Memory that is cut off goes back to the OS at once.
 * NULL when the OS refuses to make the object larger: then nothing has changed. `size` may be one that a range could
 * hold: the object stays huge. */
void *huge_resize(void *object, size_t size);

/* For messages: start and size of the huge object, in use or gone, that contains the address; NULL: there is none. */
char *huge_around(const void *address, bool gone, size_t *size);

void huge_statistics(struct huge_statistics *statistics);

#endif
