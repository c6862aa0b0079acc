/* nest.h - Nest: where free ranges wait, by size class (the paper's 4.2.1 and 3.4).
 *
 * Each class has a bounded bitmap of slots (lock-free). Ranges that do not fit there go into a doubly linked list under
 * a try-lock. No thread waits for the lock. If another thread has it, place fails, and the caller defers the range;
 * take finds nothing, and the caller tries a larger class.
 *
 *   slot      0 -> range     place: compare-exchange        range -> 0     the thread that cleared the slot's bit
 *   summary   one bit a slot, set after the slot is filled. The thread that clears the bit has the range in the slot.
 *             It empties the slot, or sets the bit again if it wanted another range
 *   nonempty  one bit a class, a hint: set (if it is clear) after a summary's bit was set and after a list was filled.
 *             Cleared by a thread that finds nothing, which sets it again if its second look finds something. The hint
 *             may be set too long, but it is never clear too long.
 *   list      | 31 locked | 30 locked for fork | 23..0 first range |    compare-exchange by try-lock, store by unlock
 *
 * A range's link word says where the range waits (slot number, or "in list" and next). In a list the range's leaf word
 * has the previous range. The thread that takes a range out owns Nest's half; Knit has the other half (ownership.c).
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
    _Alignas(64) struct nest_class classes[RANGE_CLASSES]; /* not in the cache line that all threads read */
};

/* Puts a held range where other threads find it. False when the bitmap is full and the list is busy. */
wide_bool nest_place(struct nest *nest, unsigned class, granule_id range);

/* Takes any range of the class; 0 when there is none, or the list that has one is busy, or ranges come and go. */
granule_id nest_take(struct nest *nest, unsigned class);

/* Takes this range. False when the range is not there (any more), the list is busy, or another thread is just looking
 * into its slot. `leaf`: the range's leaf word while it waits in this nest, without the previous range. */
wide_bool nest_take_this(struct nest *nest, unsigned class, granule_id range, struct leaf_word leaf);

/* Whether the class may have a range: a hint. False while the first range of a class is just being placed, too. */
bool nest_may_have(const struct nest *nest, unsigned class);

/* First class from `class` on that may have a range; RANGE_CLASSES when there is none. */
unsigned nest_next_class(const struct nest *nest, unsigned class);

/* How many ranges of the class wait here, for the statistics and for policy: a racy snapshot. */
size_t nest_count(struct nest *nest, unsigned class);

/* Ranges in the slots of the class: a racy snapshot. */
static inline unsigned nest_in_slots(const struct nest *nest, unsigned class) {
    return (unsigned)__builtin_popcountl(atomic_load_explicit(&nest->classes[class].summary, memory_order_relaxed));
}

/* Whether more ranges of the class wait here than that number, or at least two in the list: a hint. Reads at most one
 * range's link word. */
bool nest_has_more(const struct nest *nest, unsigned class, unsigned number);

/* Takes the lists' locks before a fork, each within a bounded number of tries. So the fork copies none of these lists
 * in the middle of a change. Returns a bit for each lock that it took. In the child all locks for a fork can be undone
 * (~0), also those that another forking thread held. */
uint64_t nest_lock_all(struct nest *nest);
void nest_unlock_all(struct nest *nest, uint64_t locked);

#endif
