/* mapping_cache.h - freed mappings that wait for the next huge object, as free ranges wait in Thrift's mapped Nests.
 *
 *   entry   start           size, buffer                the entry's next thread
 *           0               old                         push: 0 -> IN_HANDS
 *           IN_HANDS        its thread's                push: -> address; pop, drain: -> 0; pop that
 *                                                       finds another mapping than it looked for: -> address
 *           address         of the mapping there        pop, drain, push that finds no empty entry: -> IN_HANDS
 *
 *   To IN_HANDS: [MC1] acquire; from there: [MC2] release.
 *
 *   size     bytes of the mapping. All may have memory
 *   buffer   Thrift's active buffer when the mapping was pushed: the round that ends that buffer's time drains it
 *
 * The thread that has changed a start to IN_HANDS is alone with the entry. A thread that looks for a mapping reads the
 * sizes of entries that it does not have. These are hints: it looks again when it has the entry.
 * Invariant: a mapping is in one entry, or in the hands of one thread, or a live object's, or unmapped.
 * Progress: wait-free: each operation tries each entry a bounded number of times. A thread that is stopped in between
 * takes one entry out of use. The hardened build has no entries: there a freed huge object is unmapped.
 */
#ifndef JW_MAPPING_CACHE_H
#define JW_MAPPING_CACHE_H

#include <stdbool.h>
#include <stddef.h>

struct cached_mapping {
    char *start; /* NULL: no mapping */
    size_t size;
};

/* Pushes a mapping that only the caller has. False: the mapping got no entry. *old: the mapping that lost its entry,
 * and is now the caller's. */
bool mapping_cache_push(const struct cached_mapping *mapping, struct cached_mapping *old);

/* Pops the mapping that suits a request of `size` bytes at a multiple of `alignment` best: the caller changes its size
 * if need be. False: none has a 16th of the size at least and twice the size at most (HUGE_START_PART, HUGE_FITTING; on
 * 32 bits, none is as large or larger by an eighth at most). */
bool mapping_cache_pop(size_t size, size_t alignment, struct cached_mapping *taken);

/* Unmaps cached mappings that were pushed while `buffer` was active (ANY_BUFFER: all). Stops when these had at least
 * `granules` granules of memory. Returns the bytes of that memory. */
enum { ANY_BUFFER = 2 };
size_t mapping_cache_drain(unsigned buffer, size_t granules);

/* Bytes of cached mappings, which count as cached. */
size_t mapping_cache_bytes(void);

#endif
