/* purge.h - gives free memory back within a limit of time, and goes on at the next call where the last one has ended.
 *
 *   word   | 31..28 step | 27..0 place in the step |     where the next call begins; one word for each level
 *
 *   step        what it does, piece by piece                                           levels
 *   OWN         looks for empty slabs in the calling thread's heap: a class            PURGE_OWN
 *   ENDED       drains the heaps of ended threads: a heap                              PURGE_OWN, PURGE_THREADS
 *   EMPTIED     slabs that other threads have emptied: a root                          the same
 *   CACHES      each thread's empty slabs and cached ranges: a heap                    the same
 *   MID         empty mid slabs, and the pages of free mid objects: a root             the same
 *   SHARED      deferred ranges, spare roots, mappings that wait to be unmapped: all   all
 *   RANGES      mappings and ranges that are cached for all threads: a range           all
 *
 * A call goes through the rest of the steps, then once through all of its level. It does one piece at least. So each
 * call makes progress, and what was free before as many calls as there are pieces has gone.
 *
 * Threads: any number at once, beside malloc and free. Each piece is a piece of a round, which may run at any time. No
 * thread is stopped or waited for. A word is a hint: a thread that overwrites another's makes some pieces come twice
 * or later. Nothing else passes by it, so it is relaxed.
 */
#ifndef JW_CORE_PURGE_H
#define JW_CORE_PURGE_H

#include <stddef.h>
#include <stdint.h>

enum purge_level { PURGE_SHARED, PURGE_THREADS, PURGE_OWN, PURGE_LEVELS };

/* Returns the bytes that were given back meanwhile, by all threads. UINT64_MAX microseconds: no limit. */
size_t purge_for(enum purge_level level, uint64_t microseconds);

#endif
