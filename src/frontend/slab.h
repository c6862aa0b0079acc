/* slab.h - a frontend slab: one granule of equal objects, owned by one heap for as long as it is a slab. What is known
 * of it stands in the granule's record (backend/page_map.h): one cache line, beside the slab so that no overflow
 * reaches it and that the lines of many slabs do not all compete for the same place in a cache.
 *
 * The owner allocates from the local list of its current slab, which stands in the heap, and frees to that, or to the
 * freed list of another slab, which becomes the local one in its turn; other threads push to the cross list. So malloc
 * counts nothing and reads no record: `out` is what is given out, or waits in the local or the cross list, and only
 * frees change it. The owner counts down `budget` on each of its frees, so that one test finds both events that need
 * attention:
 *
 *   state       in which list of its heap    budget                       budget reaches 0
 *   CURRENT     the class's current one      out + 1 (pinned)             never: frees go to the local list
 *   PARTIAL     partial                      out                          the slab is empty
 *   EMPTY       pool                         0; poisoned origin: any free is misuse
 *   FULL        none                         how many own objects are     the slab is CURRENT or PARTIAL
 *                                            still to come back; at first
 *                                            the class's frees_until_reopen
 *   RETURNING   none; empty, but on its way  1 (pinned)                   never
 *               to the `reopened` stack
 *
 * A CURRENT slab's frees go to its class's local list instead, and are counted there; so do a FULL one's where they may
 * be cached (object_cache.h). Hardened build: only refills bring to the local list what was freed.
 *
 * Invariant: out + length of freed list + not yet linked = capacity; a local list has objects of the CURRENT slab, and
 * cached ones of FULL and PARTIAL slabs.
 *
 * The owner does not look at its full slabs. The first free by another thread returns such a slab to its owner
 * (cross_list.h, "full"). The mark is set once and stays, whatever the owner does with the slab, until such a free:
 *
 *   marked   mark     the slab
 *   no       clear    its owner looks at it when it is CURRENT or PARTIAL, and marks it before it is FULL
 *   yes      stands   no thread is about to return it
 *   yes      clear    the thread that cleared the mark is about to push it to the owner's `reopened` stack (heap.h);
 *                     the slab must not become EMPTY, nor be marked again, before it is there
 */
#ifndef JW_SLAB_H
#define JW_SLAB_H

#include "backend/page_map.h"
#include "base/fill.h"
#include "base/misuse.h"
#include "config/size_classes.h"
#include "frontend/cross_list.h"
#include "platform/instructions.h"

enum slab_state { CURRENT, PARTIAL, EMPTY, FULL, RETURNING };

/* A slab's number in few bytes; 0: none. */
struct __attribute__((packed)) slab_id {
    uint16_t low;
    uint8_t high;
};

/* Where frees by the owner go. */
struct free_target {
    void *first; /* of the list's objects, or an end (sync/free_link.h) */
    uint16_t budget;
    /* there is room for a slab's neighbours: the next in the partial list or in the pool; the one before it in the
     * partial list, of the first one the last */
    struct slab_id next, previous;
};
enum { FREE_TARGET_WORDS = sizeof(struct free_target) / sizeof(uintptr_t) };

/* `key` is written when the granule becomes a slab and when it ceases to be one; `class`, `origin`, `reciprocal` and
 * `last` before an object is given out, and others read them to free it. `cross` is shared, and so is the granule's
 * link word (page_map.h), where the next slab in the reopened stack stands: the thread that returns this one writes it;
 * all else is the owner's. */
struct slab {
    cross_list cross;
    uint8_t class;          /* read by others, too */
    _Atomic(uint8_t) state; /* written by the owner, read by rounds (remote_reclaim.h) */
    uint16_t linked : 15;   /* objects that were put into a list so far */
    uint16_t marked : 1;
    uintptr_t key;    /* the owner's (heap.h); 0: no slab. Read by any thread that frees an address */
    uintptr_t origin; /* the first object's address, less 1; while EMPTY, ORIGIN_POISON more: behind the slab */
    uintptr_t reciprocal, last; /* of its class (size_classes.h) */
    struct free_target own;
    struct free_target *target; /* where its owner's frees go: `own`, or its class's in the heap */
};

_Static_assert(sizeof(struct slab) <= RECORD_SIZE, "what free needs is in one cache line");
_Static_assert(GRANULE_SIZE / SMALLEST_OBJECT <= INT16_MAX, "a slab's capacity fits in `linked`");
_Static_assert(SIZE_CLASS_COUNT - 1 <= UINT8_MAX && RETURNING <= UINT8_MAX, "class and state fit in a byte each");
_Static_assert(ID_BITS <= 24, "a slab's number fits in a slab_id");

#define ORIGIN_POISON GRANULE_SIZE

static ALWAYS_INLINE struct slab *slab_of(const void *object) {
    return (struct slab *)record_of(object);
}

static inline granule_id slab_id_get(const struct slab_id *id) {
    return id->low | (granule_id)id->high << 16;
}

static inline void slab_id_put(struct slab_id *id, granule_id number) {
    id->low = (uint16_t)number;
    id->high = (uint8_t)(number >> 16);
}

static inline struct slab *slab_by_id(const struct slab_id *id) {
    granule_id number = slab_id_get(id);
    return number ? (struct slab *)record_at(number) : NULL;
}

static inline void slab_id_set(struct slab_id *id, const struct slab *slab) {
    slab_id_put(id, slab ? record_id(slab) : 0);
}

static inline void slab_id_copy(struct slab_id *to, const struct slab_id *from) {
    to->low = from->low;
    to->high = from->high;
}

/* Whether the slab's owner has the key; 0: whether it is no slab. An object's slab stays what it is, so a thread that
 * may free the object needs no order. Of other addresses anything may be read. */
static ALWAYS_INLINE bool slab_has_key(const struct slab *slab, uint64_t key) {
    return word_is(&slab->key, key);
}

/* Of which the keys of all heaps are made (heap_key): their upper halves where a slab has no room for them. Drawn once,
 * at the start. */
extern uint64_t frontend_key HIDDEN;

/* In the child of a fork: new slabs link their objects in random order. 0: in the order of addresses. */
extern uint64_t slab_scatter_secret HIDDEN;

/* The key of a slab's links: 32-bit platforms have room for its lower half. */
static ALWAYS_INLINE uint64_t slab_key(const struct slab *slab) {
    return sizeof slab->key == sizeof(uint64_t) ? slab->key : (frontend_key & ~(uint64_t)UINT32_MAX) | slab->key;
}

/* Whether an address is where an object begins: size_class_last says why. On 64 bits false as well for a foreign
 * address that shares a slab's place in the window, as the distance is that of whole addresses. */
static ALWAYS_INLINE bool slab_has_start(const void *object, const struct slab *slab) {
    return ((uintptr_t)object - slab->origin - 1) * slab->reciprocal <= slab->last;
}

/* An object's distance from the first one, and 1 more where its first word may be a link: the origin is 1 less than the
 * first object's address. */
static ALWAYS_INLINE uintptr_t slab_distance(const void *object, const struct slab *slab) {
    return difference_less_borrow((uintptr_t)object, &slab->origin, link_upper_half(object), LINK_MARK);
}

/* The same of an object in use: what may be a link puts the address off by one, so that no branch is needed to see a
 * double free. False as well where a program has written what looks like a link. */
static ALWAYS_INLINE bool slab_has_object(const void *object, const struct slab *slab) {
    return slab_distance(object, slab) * slab->reciprocal <= slab->last;
}

/* Counts an own free. True: it needs attention, as the budget is spent or no object in use begins there; so that free
 * has one branch for both. */
static ALWAYS_INLINE bool slab_count_free(const struct slab *slab, struct free_target *target, const void *object) {
    return count_down(&target->budget, slab_distance(object, slab) * slab->reciprocal, &slab->last);
}

/* Whether an object may follow one of that slab in a list: another of it or, where they are cached, one of its class
 * and heap. */
static inline bool slab_may_precede(const struct slab *slab, const void *next) {
    const struct slab *other = slab_of(next);
    if (other != slab && (JW_SECURE || other->class != slab->class || !slab_has_key(other, slab_key(slab))))
        return false;
    return slab_has_start(next, other);
}

/* Whether a link may lead there from a free object: to another one, or to an end, which may be the origin of the
 * class's current slab. */
static inline bool slab_may_list(const void *object, const void *next) {
    if (next == LINK_END) return true;
    if (next == NULL) return false;
    const char *start = (const char *)next + link_end(next);
    if (link_end(next) && slab_of(start)->origin != (uintptr_t)next) return false;
    return slab_may_precede(slab_of(object), start);
}

/* Clears the links of a slab without objects, before its memory is cut into other objects or leaves the heap: who gets
 * an object there could read them. */
void slab_clear_links(const struct slab *slab);

/* Whether the object's first word is a link: within its slab, to an end, or as above. Of an object in use a program may
 * have written that (suspect.h). */
bool slab_has_link(const void *object);

/* The same of a free object's word, which is no near link; what leads elsewhere was written by the program. An end is
 * LINK_END. */
void *slab_next_far(const void *object, uint64_t distance);

/* The object behind a free one. Hardened build: near links are looked at more closely, too. */
static ALWAYS_INLINE void *slab_next(const void *object, uint64_t key) {
    uint64_t distance = link_distance(object, key);
    void *next = link_followed(object, distance);
    bool near = JW_LINK_CHECK && link_is_near(distance, JW_SECURE ? GRANULE_SIZE : ROOT_SIZE);
    if (UNLIKELY(!near || (JW_SECURE && !slab_has_start(next, slab_of(object)))))
        return slab_next_far(object, distance);
    return next;
}

/* The owner's view. */
static inline enum slab_state slab_state(const struct slab *slab) {
    return (enum slab_state)atomic_load_explicit(&slab->state, memory_order_relaxed);
}

/* After the budget that goes with the state. */
static inline void slab_set_state(struct slab *slab, enum slab_state state) {
    /* [RR1] release: the budget; pairs [RR2]; client remote_epoch */
    atomic_store_explicit(&slab->state, (uint8_t)state, memory_order_release);
}

/* Rounds read the budget of a FULL or PARTIAL slab. */
static ALWAYS_INLINE void free_target_set_budget(struct free_target *target, unsigned budget) {
    __atomic_store_n(&target->budget, (uint16_t)budget, __ATOMIC_RELAXED);
}

/* Objects given out, or waiting in the local or the cross list. */
static inline unsigned slab_out(const struct slab *slab) {
    switch (slab_state(slab)) {
    case PARTIAL: return slab->own.budget;
    case FULL: return slab->linked - (size_classes[slab->class].frees_until_reopen - slab->own.budget);
    case EMPTY: return 0;
    default: return slab->own.budget - 1u;
    }
}

/* Whether a round has taken the slab (remote_reclaim.h). */
static inline bool slab_is_taken(const struct slab *slab) {
    return cross_is_taken(atomic_load_explicit(&slab->cross, memory_order_relaxed));
}

/* Whether all objects are free of a FULL or PARTIAL slab of which so many are out, as those of a taken one are: told by
 * counts alone. */
static inline bool slab_is_free(const struct slab *slab, unsigned out) {
    uint32_t word = atomic_load_explicit(&slab->cross, memory_order_relaxed);
    return cross_count_of(word) == out;
}

/* The owner's first step with a FULL or PARTIAL slab, of which so many objects are out, that it is about to allocate
 * from or to empty: from now on no round takes it. Where one has, the slab is as new. False: a round is just giving its
 * memory back; its state is CURRENT, and must become again what it was. */
bool slab_reclaim_taken(struct slab *slab, unsigned out);
static inline uint32_t slab_unwatch(struct slab *slab) {
    atomic_store_explicit(&slab->state, CURRENT, memory_order_relaxed);
    /* [RR5] release: the state; pairs [RR6]; client remote_leave */
    return atomic_fetch_and_explicit(&slab->cross, ~CROSS_WATCHED, memory_order_release) & CROSS_WATCHED;
}
static inline bool slab_reclaim(struct slab *slab, unsigned out) {
    return LIKELY(slab_unwatch(slab) == 0) || slab_reclaim_taken(slab, out);
}

/* The first half of it: the state is CURRENT. True: a round has taken the slab, and WATCHED is missing. */
static inline bool slab_leave(struct slab *slab) {
    return slab_unwatch(slab) && slab_is_taken(slab);
}

/* Whether another thread has cleared the mark and has not returned the slab yet. */
static inline bool slab_is_on_its_way(const struct slab *slab) {
    return slab->marked && !(atomic_load_explicit(&slab->cross, memory_order_relaxed) & CROSS_FULL);
}

/* Marks a slab that is not on its way. False: objects have come back meanwhile. */
static inline bool slab_mark(struct slab *slab) {
    slab->marked = cross_mark_full(&slab->cross);
    return slab->marked;
}

static inline unsigned slab_list_length(const void *object) {
    unsigned length = 0;
    for (; !link_end(object); object = slab_next(object, slab_key(slab_of(object)))) length++;
    return length;
}

static ALWAYS_INLINE void slab_fill(const struct slab *slab, void *object) {
    if (JW_FILL) fill_write(object, sizeof(link_word), size_classes[slab->class].size);
}

/* Whether a free object is as it was left (checked builds). */
static ALWAYS_INLINE void slab_check_fill(const void *object) {
    if (!JW_FILL) return;
    if (!slab_may_list(object, link_next(object, slab_key(slab_of(object))))) misuse(WRITE_AFTER_FREE, object, 0);
    fill_check(object, sizeof(link_word), size_classes[slab_of(object)->class].size);
}

/* Makes a fresh slab of the class at that address, marked. Its state and key are left to the caller. */
void slab_format(struct slab *slab, const char *start, unsigned class);

/* The address of a slab that is not EMPTY, less 1. */
static inline char *slab_origin(const struct slab *slab) {
    return (char *)slab->origin; // NOLINT(performance-no-int-to-ptr)
}

static ALWAYS_INLINE void free_target_push(struct free_target *target, void *object, uint64_t key) {
#if !JW_CHECKED && !JW_SECURE
    /* now: then the link is made in the key's register */
    *(link_word *)object = computed_now(key ^ link_place(object)) ^ (uintptr_t)target->first;
#else
    link_write(object, target->first, key);
#endif
    target->first = object;
}

/* A new local list for a CURRENT slab: the freed list. NULL when there is none. */
static ALWAYS_INLINE void *slab_refill_freed(struct slab *slab) {
    void *first = slab->own.first;
    if (link_end(first)) return NULL;
    slab->own.first = LINK_END;
    free_target_set_budget(&slab->own, slab->linked + 1u);
    return first;
}

/* The same of the cross list, or of objects never given out. */
void *slab_refill_slowly(struct slab *slab);

/* The same of all three: NULL when all objects are in use. */
static inline void *slab_refill(struct slab *slab) {
    void *first = slab_refill_freed(slab);
    return first ? first : slab_refill_slowly(slab);
}

/* Moves a list of the slab's objects to the freed list. Walks it. */
void slab_put_back(struct slab *slab, void *first);

/* The same with all of the cross list. */
void slab_collect(struct slab *slab);

#endif
