/* limits.h - how much memory the process may have from us: two limits, which the program may set at any time, and one
 * that memory pressure sets.
 *
 *   committed            what the kernel may charge for our memory: ranges in use, or cached with pages; mappings of
 *                        huge objects; their part of the tables; heaps. An object counts in full, touched or not.
 *                        Slabs whose pages a round has given back do not count, nor what the hardened build keeps
 *                        without pages, nor freed mappings that the OS takes neither by munmap nor by madvise; free
 *                        pages inside a mid slab do
 *   options.limit_soft   above it caches shrink: no range or mapping is cached, and each round is a purge
 *   options.limit_hard   no request that needs new pages beyond it is served, even after a purge
 *
 *   pressure_limit       with the option pressure: as the soft one. What is committed and, until a share of the control
 *                        group's limit is left, what the group has room for; 1 while its tasks wait for memory.
 *                        limits_look sets it, at the start and in each round: our own growth needs no look between them
 *
 * A limit of 0 is none. Only slow paths look: where memory without pages comes into use (thrift_admit, slab_regain),
 * where ranges are freed, and rounds. Two threads that look at the same moment may both find room. Then the hard limit
 * is exceeded by what one of them asks for. Pages that are ours already are never refused.
 *
 * All counters are relaxed, and of different moments. Wait-free.
 */
#ifndef JW_LIMITS_H
#define JW_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"

size_t limits_committed(void);

extern _Atomic(size_t) pressure_limit;

/* Granules above the limit if so many more come into use; 0: none, or there is no such limit. */
size_t limits_above(const _Atomic(size_t) *limit, size_t granules);

/* The same for the soft limit and that of pressure: what is above the lower one. */
size_t limits_above_soft(size_t granules);

/* Sets pressure_limit anew. Nothing without the option. */
void limits_look(void);

/* Whether more is committed than the pressure limit allows. */
static inline bool limits_are_pressed(void) {
    return option(&pressure_limit) > 0 && limits_above(&pressure_limit, 0) > 0;
}

/* False: the request alone is above the hard limit, and no memory that goes back helps. */
static inline bool limits_may_admit(size_t bytes) {
    size_t most = option(&options.limit_hard);
    return most == 0 || bytes <= most;
}

static inline wide_bool limits_admit(size_t granules) {
    return limits_above(&options.limit_hard, granules) == 0;
}

static inline bool limits_are_exceeded(void) {
    return limits_above_soft(0) > 0;
}

#endif
