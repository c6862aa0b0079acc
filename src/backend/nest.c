/* nest.c - a Nest's slots, lists and hints: place a range, take any range of a class, take a given one. */
#include "backend/nest.h"

#include "config/policy.h"
#include "platform/assert.h"

#define LOCKED 0x80000000u
#define LOCKED_FOR_FORK 0x40000000u
_Static_assert(((LOCKED | LOCKED_FOR_FORK) & ID_MASK) == 0, "the locks stand above the first range's number");
#define ALL_SLOTS (~(uintptr_t)0 >> (sizeof(uintptr_t) * 8 - JW_NEST_SLOTS))

static void set_next_range(granule_id range, uint32_t next, bool in_list) {
    range_link_set(range, range_link_with_list(range_link_get(range), next, in_list));
}

static void set_previous(granule_id range, granule_id previous) {
    leaf_set(range, leaf_with_previous(leaf_get(range), previous));
}

static wide_bool list_try_lock(struct nest_class *class, granule_id *first) {
    uint32_t list = atomic_load_explicit(&class->list, memory_order_relaxed);
    *first = list & ID_MASK;
    /* [NL1] acquire: the list as its last holder left it; pairs [NL2] [NL4]; client nest_list */
    return !(list & (LOCKED | LOCKED_FOR_FORK)) &&
           atomic_compare_exchange_strong_explicit(&class->list, &list, list | LOCKED, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void list_unlock(struct nest_class *class, granule_id first) {
    /* [NL2] release: the list; pairs [NL1] [NL3]; client nest_list */
    atomic_store_explicit(&class->list, first, memory_order_release);
}

static bool list_empty(const struct nest_class *class) {
    return (atomic_load_explicit(&class->list, memory_order_relaxed) & ID_MASK) == 0;
}

static bool list_place(struct nest_class *class, granule_id range) {
    granule_id first;
    if (!list_try_lock(class, &first)) return false;
    set_previous(range, 0);
    set_next_range(range, first, true);
    if (first) set_previous(first, range);
    list_unlock(class, range);
    return true;
}

/* The caller holds the lock. Returns the list's new first range. */
static granule_id list_unlink(granule_id first, granule_id range) {
    granule_id next = range_next(range), previous = leaf_previous(leaf_get(range));
    invariant(range_link_in_list(range_link_get(range)));
    if (next) set_previous(next, previous);
    if (previous) set_next_range(previous, next, true);
    set_next_range(range, 0, false);
    set_previous(range, 0);
    return previous ? first : next;
}

static granule_id list_take(struct nest_class *class) {
    granule_id first;
    if (list_empty(class) || !list_try_lock(class, &first)) return 0;
    list_unlock(class, first ? list_unlink(first, first) : 0);
    return first;
}

#define HINTS_PER_WORD (sizeof(uintptr_t) * 8)

bool nest_may_have(const struct nest *nest, unsigned class) {
    return atomic_load_explicit(&nest->nonempty[class / HINTS_PER_WORD], memory_order_relaxed) >>
               class % HINTS_PER_WORD &
           1;
}

static void note_nonempty(struct nest *nest, unsigned class) {
    /* [NE1] release: the list, for a thread that looks again after it cleared the hint; pairs [NE2];
     * client nest_list_hint */
    atomic_fetch_or_explicit(&nest->nonempty[class / HINTS_PER_WORD], (uintptr_t)1 << class % HINTS_PER_WORD,
                             memory_order_release);
}

/* From now on other threads can take the range in the slot. */
static ALWAYS_INLINE void slot_publish(struct nest *nest, unsigned class, unsigned slot) {
    /* [NH3] release: the slot and the range's words; acquire: that the hint was cleared; pairs [NH1] [NH2] [NE3];
     * clients nest_slots nest_hints nest_hint_cleared */
    atomic_fetch_or_explicit(&nest->classes[class].summary, (uintptr_t)1 << slot, memory_order_acq_rel);
    if (!nest_may_have(nest, class)) note_nonempty(nest, class);
}

static ALWAYS_INLINE bool slots_place(struct nest *nest, unsigned class, granule_id range) {
    struct nest_class *into = &nest->classes[class];
    uintptr_t free = ~atomic_load_explicit(&into->summary, memory_order_relaxed) & ALL_SLOTS;
    for (; free; free &= free - 1) {
        unsigned slot = (unsigned)__builtin_ctzl(free);
        uint32_t expected = 0;
        range_link_set(range, range_link_with_list(range_link_get(range), slot, false));
        /* relaxed: the summary bit publishes the slot */
        if (!atomic_compare_exchange_strong_explicit(&into->slots[slot], &expected, range, memory_order_relaxed,
                                                     memory_order_relaxed))
            continue;
        slot_publish(nest, class, slot);
        return true;
    }
    return false;
}

static granule_id slots_take(struct nest_class *from) {
    uintptr_t filled = atomic_load_explicit(&from->summary, memory_order_relaxed), bit;
    for (; filled; filled &= ~bit) {
        bit = filled & -filled;
        /* [NH1] acquire: the slot and the range's words; pairs [NH3]; clients nest_slots nest_hints */
        if (!(atomic_fetch_and_explicit(&from->summary, ~bit, memory_order_acquire) & bit)) continue;
        _Atomic(uint32_t) *slot = &from->slots[__builtin_ctzl(bit)];
        granule_id range = atomic_load_explicit(slot, memory_order_relaxed);
        atomic_store_explicit(slot, 0, memory_order_relaxed); /* the thread that cleared the bit has the slot */
        return range;
    }
    return 0;
}

static COLD wide_bool place_in_list(struct nest *nest, unsigned class, granule_id range) {
    if (!list_place(&nest->classes[class], range)) return false;
    note_nonempty(nest, class);
    return true;
}

wide_bool nest_place(struct nest *nest, unsigned class, granule_id range) {
    return LIKELY(slots_place(nest, class, range)) || place_in_list(nest, class, range);
}

granule_id nest_take(struct nest *nest, unsigned class) {
    struct nest_class *from = &nest->classes[class];
    granule_id range = slots_take(from);
    if (!range) range = list_take(from);
    if (range) return range;
    /* [NE2] acquire: if the placing thread set the hint before, this thread sees its list; if later, the hint stays;
     * pairs [NE1]; client nest_list_hint */
    atomic_fetch_and_explicit(&nest->nonempty[class / HINTS_PER_WORD], ~((uintptr_t)1 << class % HINTS_PER_WORD),
                              memory_order_acquire);
    /* [NE3] release: a thread whose bit this load does not see finds the hint cleared, and sets it; pairs [NH3];
     * clients nest_hints nest_hint_cleared */
    if (atomic_fetch_add_explicit(&from->summary, 0, memory_order_release) || !list_empty(from))
        note_nonempty(nest, class);
    return 0;
}

static bool list_take_given(struct nest_class *class, granule_id range, struct leaf_word leaf) {
    granule_id first;
    if (!list_try_lock(class, &first)) return false;
    /* the leaf word alone decides: it has a previous range only while the range is in a list, and only the holder of
     * that list's lock changes it */
    struct leaf_word now = leaf_get(range);
    granule_id previous = leaf_previous(now);
    bool there = leaf_same(leaf_with_previous(now, 0), leaf) && (previous || first == range);
    list_unlock(class, there ? list_unlink(first, range) : first);
    return there;
}

wide_bool nest_take_this(struct nest *nest, unsigned class, granule_id range, struct leaf_word leaf) {
    struct nest_class *from = &nest->classes[class];
    struct range_link link = range_link_get(range);
    if (range_link_in_list(link)) return list_take_given(from, range, leaf);
    unsigned slot = range_link_following(link);
    if (slot >= JW_NEST_SLOTS || atomic_load_explicit(&from->slots[slot], memory_order_relaxed) != range) return false;
    uintptr_t bit = (uintptr_t)1 << slot;
    /* [NH2] acquire: as NH1; pairs [NH3]; client nest_slots */
    if (!(atomic_fetch_and_explicit(&from->summary, ~bit, memory_order_acquire) & bit)) return false;
    bool there = atomic_load_explicit(&from->slots[slot], memory_order_relaxed) == range;
    if (there) atomic_store_explicit(&from->slots[slot], 0, memory_order_relaxed);
    else slot_publish(nest, class, slot); /* another one by now */
    return there;
}

unsigned nest_next_class(const struct nest *nest, unsigned class) {
    for (unsigned word = class / HINTS_PER_WORD; word < sizeof nest->nonempty / sizeof *nest->nonempty;
         word++, class = word * HINTS_PER_WORD) {
        uintptr_t hints = atomic_load_explicit(&nest->nonempty[word], memory_order_relaxed) >> class % HINTS_PER_WORD;
        if (hints) return class + (unsigned)__builtin_ctzl(hints);
    }
    return RANGE_CLASSES;
}

bool nest_has_more(const struct nest *nest, unsigned class, unsigned number) {
    const struct nest_class *from = &nest->classes[class];
    unsigned count = nest_in_slots(nest, class);
    granule_id first = atomic_load_explicit(&from->list, memory_order_relaxed) & ID_MASK;
    /* A hint: another thread may just have taken the first range, and then its link may have any value. A list is not
     * counted: it may be long, while most slots are empty again. */
    return count + (first != 0) > number || (first && range_next(first));
}

size_t nest_count(struct nest *nest, unsigned class) {
    struct nest_class *from = &nest->classes[class];
    size_t count = nest_in_slots(nest, class);
    granule_id first;
    if (list_empty(from) || !list_try_lock(from, &first)) return count;
    for (granule_id range = first; range; range = range_next(range)) count++;
    list_unlock(from, first);
    return count;
}

/* False: this thread has not got the lock. It does not wait for a lock that another forking thread holds. */
static bool list_lock_for_fork(struct nest_class *class) {
    for (unsigned tries = 0; tries < JW_FORK_TRIES; tries++) {
        uint32_t list = atomic_load_explicit(&class->list, memory_order_relaxed);
        if (list & LOCKED_FOR_FORK) return false;
        /* [NL3] acquire: as NL1; pairs [NL2] [NL4]; client nest_fork */
        if (!(list & LOCKED) && atomic_compare_exchange_strong_explicit(&class->list, &list, list | LOCKED_FOR_FORK,
                                                                        memory_order_acquire, memory_order_relaxed))
            return true;
    }
    return false;
}

_Static_assert(RANGE_CLASSES <= 64, "the locks held around fork are noted in one 64-bit word");

uint64_t nest_lock_all(struct nest *nest) {
    uint64_t locked = 0;
    for (unsigned range_class = 0; range_class < RANGE_CLASSES; range_class++)
        locked |= (uint64_t)list_lock_for_fork(&nest->classes[range_class]) << range_class;
    return locked;
}

void nest_unlock_all(struct nest *nest, uint64_t locked) {
    for (unsigned range_class = 0; range_class < RANGE_CLASSES; range_class++)
        if (locked >> range_class & 1) /* [NL4] release: the fork has read; pairs [NL1] [NL3]; client nest_fork */
            atomic_fetch_and_explicit(&nest->classes[range_class].list, ~LOCKED_FOR_FORK, memory_order_release);
}
