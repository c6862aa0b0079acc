/* shield.h - the hardened build's entry points, around the allocator: every object ends in a trailer
 * (secure/trailer.h), waits in a quarantine when it is freed, and on processors that have memory tags gets one of its
 * own.
 *
 *     slot    | the program's bytes | slack: its first bytes filled | trailer |
 *
 *   malloc    slot from the allocator (free, by its trailer) -> sealed: fill, LIVE trailer, tag
 *   free      opened: tag, trailer and fill are checked, trailer FREE, tag 0 -> cleared or filled -> quarantine ->
 *             checked again -> allocator
 *
 * The allocator below knows slots only. Progress: as below; what is here belongs to one thread or is one word.
 */
#ifndef JW_SHIELD_H
#define JW_SHIELD_H

#include "frontend/allocator.h"

/* As the functions of allocator.h. */
void *shield_allocate_zeroed(size_t size);
void *shield_allocate_aligned(size_t alignment, size_t size);
void *shield_reallocate(void *object, size_t size);
void shield_deallocate_sized(void *object, size_t alignment, size_t size);
size_t shield_object_size(const void *object);
size_t shield_good_size(size_t size);

/* The calling thread's quarantined objects go to the allocator. */
void shield_flush(void);

#endif
