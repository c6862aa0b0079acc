/* huge.h - objects with a mapping each: those above a root's size, others above 2 KB without a root, and large ones
 * that a freed mapping serves.
 *
 * The kernel chooses the place, at a multiple of a granule and of an OS page. The directory (directory.h) has the
 * object's size. An object takes no slot of the window. A lookup comes here only with an address that is in no root of
 * ours. There is no list and no lock.
 *
 * A freed mapping waits for the next object (mapping_cache.h), within what may be cached. Above that limit the end of
 * the mapping is unmapped, or all of it.
 */
#ifndef JW_HUGE_H
#define JW_HUGE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/statistics_types.h"

/* Allocates at least `size` bytes at a multiple of `alignment` (any power of two). All are zero but the first
 * *dirty_bytes, which may be anything (NULL: the caller does not ask). NULL when the OS refuses. */
void *huge_allocate(size_t size, size_t alignment, size_t *dirty_bytes);

/* The same from a mapping that waits. NULL: none suits. */
void *huge_reuse(size_t size, size_t *dirty_bytes);

/* Frees a huge object. False: no huge object in use begins at the address. */
bool huge_free_if_live(void *object);

/* Frees a huge object, or reports what is wrong with the address and aborts. */
void huge_free(void *object);

/* Hardened build: huge_begin_free takes a huge object from the program, and returns the object's size in bytes. The
 * mapping, of the object and its guard, stays until huge_finish_free unmaps it. `closed`: it may be without access.
 * False: the OS refuses both the access and the unmapping, and the mapping is still the caller's. */
size_t huge_begin_free(void *object);
bool huge_finish_free(char *object, size_t size, bool closed);

/* Bytes of the mapping behind each object: the hardened build's guard, which hardened/large.c makes. */
size_t huge_guard(void);

/* Whether a request of `size` bytes may have got an object of `usable` bytes. A cached mapping may be larger than the
 * request, by an eighth of the request. */
bool huge_may_serve(size_t usable, size_t size);

/* Usable bytes; 0 when the address is not a huge object. */
size_t huge_usable_size(const void *object);

/* Bytes that huge_allocate(size) gives at least; 0 when no object can be so large (16 TB, with granules of 4 KB). */
size_t huge_good_size(size_t size);

/* Bytes of addresses that the OS must have in one piece for such an object, with what is needed to find a multiple of
 * the alignment there. 0 when no object can be so large. */
size_t huge_addresses(size_t size, size_t alignment);

/* Changes the size in place or by moving pages, without copying. `old`: what huge_usable_size has told, not 0. Memory
 * that is cut off goes back to the OS at once. NULL when the OS refuses to make the object larger: then nothing has
 * changed. `size` may be one that a range could hold: the object stays huge. */
void *huge_resize(void *object, size_t old, size_t size);

/* Finds the huge object that contains the address: its start and size, for messages. `gone`: looks for a freed object,
 * else for one in use. NULL: there is none. */
char *huge_around(const void *address, bool gone, size_t *size);

void huge_statistics(struct huge_statistics *statistics);

#endif
