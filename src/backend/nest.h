/* nest.h - Nest: where free ranges wait, by size class (the paper's 4.2.1 and 3.4).
 *
 * Each class has a bounded bitmap of slots (lock-free) and, for what does not fit there, a doubly linked list under a
 * try-lock. Nobody waits for the lock: who does not get it goes elsewhere (place fails: the caller defers; take finds
 * nothing: a larger class).
 *
 *   slot      0 -> range     place: compare-exchange        range -> 0     who cleared its bit
 *   summary   one bit a slot: set after filling it; who clears it has what is in the slot, and empties it (or, wanting
 *             another range, sets the bit again)
 *   nonempty  one bit a class, a hint: set, where it is not, after setting a bit of a summary, and after filling a
 *             list; cleared after finding nothing, and set again if a second look finds something. May be set too
 *             long, never cleared too long.
 *   list      | 31 locked | 30 locked for fork | 23..0 first range |    CAS by try-lock, store by unlock
 *
 * Where a range waits stands in its link word (slot number, or "in list" and next) and, for lists, in its leaf word
 * (previous). Who takes a range out owns its Nest half; Knit holds the other half (ownership.c joins the two).
 * Progress: lock-free; a retry happens only when another thread placed or took something.
 */
#ifndef JW_NEST_H
#define JW_NEST_H

#include "backend/page_map.h"
#include "backend/weights.h"

struct nest_class {
    _Atomic(uintptr_t) summary;
    _Atomic(uint32_t) list;
    _Atomic(uint32_t) slots[JW_NEST_SLOTS];
};

struct nest {
    _Alignas(64) _Atomic(uintptr_t) nonempty[(RANGE_CLASSES - 1) / (sizeof(uintptr_t) * 8) + 1];
    _Alignas(64) struct nest_class classes[RANGE_CLASSES]; /* apart from what everyone reads */
};

/* Puts a held range where others find it. False when the bitmap is full and the list is busy. */
bool nest_place(struct nest *nest, unsigned class, granule_id range);

/* Takes any range of the class; 0 when there is none, or none without waiting. */
granule_id nest_take(struct nest *nest, unsigned class);

/* Takes this range. False when it is not there (any more), the list is busy, or somebody is just looking into its slot
 * for another one. `leaf`: its leaf word, less the previous range, while it waits in this nest. */
bool nest_take_given(struct nest *nest, unsigned class, granule_id range, struct leaf_word leaf);

/* First class from `class` on that may have a range; RANGE_CLASSES when there is none. */
unsigned nest_next_class(const struct nest *nest, unsigned class);

/* How many ranges of the class wait here, for the statistics and for policy: a moment's view. */
size_t nest_count(struct nest *nest, unsigned class);

/* Whether more than one range of the class waits here, without looking at them. */
bool nest_has_many(const struct nest *nest, unsigned class);

/* Around fork: takes the list locks that can be had within a bounded time, so that no list is caught halfway; returns
 * which it took. In the child all locks of this kind can be undone (~0), also those that another forking thread
 * held. */
uint64_t nest_lock_all(struct nest *nest);
void nest_unlock_all(struct nest *nest, uint64_t locked);

#endif
