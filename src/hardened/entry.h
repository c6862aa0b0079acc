/* entry.h - the hardened build's entry points, around the allocator. Every object ends in a trailer (trailer.h) and
 * waits in a quarantine when it is freed. On processors with memory tags each object gets one.
 *
 *     slot    | the program's bytes | slack: its first bytes filled | trailer |
 *
 *   malloc    slot from the quarantine or the allocator (free, says its trailer) -> sealed: fill, LIVE trailer, tag
 *   free      opened: tag, trailer and fill are checked, trailer FREED, tag 0 -> cleared or filled -> quarantine ->
 *             checked again -> malloc or the allocator
 *
 * entry_steps.h has malloc and free, entry_slow.c what is rare in them, entry_realloc.c realloc. seal.h makes an
 * object, open.h checks one that comes back.
 *
 * The allocator below knows only slots. Progress: as the allocator's; the data here belongs to one thread, or is one
 * word.
 */
#ifndef JW_ENTRY_H
#define JW_ENTRY_H

#include "core/allocator.h"

/* Like the functions of core/allocator.h. */
void *hardened_allocate_zeroed(size_t size);
void *hardened_allocate_aligned(size_t alignment, size_t size);
void *hardened_reallocate(void *object, size_t size);
void hardened_free_aligned_of_size(void *object, size_t alignment, size_t size);
static inline void hardened_free_of_size(void *object, size_t size) {
    hardened_free_aligned_of_size(object, 1, size);
}
size_t hardened_object_size(const void *object);
size_t hardened_good_size(size_t alignment, size_t size);

/* Gives the calling thread's quarantined objects to the allocator. */
void hardened_drain(void);

/* malloc and free under their exported names. */
void *jw_malloc(size_t size);
void jw_free(void *object);

#endif
