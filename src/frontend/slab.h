/* slab.h - a frontend slab: one granule of equal objects, owned by one heap for as long as it is a slab. Its record is
 * the granule's (backend/page_map.h): one cache line outside the slab. So no overflow reaches the record, and the
 * records of many slabs do not compete for the same place in a cache.
 *
 * The owner allocates from the local list of its current slab, which stands in the heap. It frees to that list, or to
 * the freed list of another slab, which becomes the local list in its turn. Other threads push to the cross list. So
 * malloc's hit path counts nothing and reads no record. `out` objects are given out, or wait in the local or the cross
 * list: the owner's frees to the freed list lower that number, refills raise it. The owner counts down `budget` on each
 * of its frees, so that one test finds both events that need attention:
 *
 *   state       in which list of its heap    budget                       budget reaches 0
 *   CURRENT     the class's current one      out + 1 (pinned)             never: frees go to the local list
 *   PARTIAL     partial                      out                          the slab is empty
 *   EMPTY       pool                         0; poisoned origin: any free is misuse
 *   FULL        none                         own frees until reopen; at   the slab is CURRENT or PARTIAL
 *                                            first frees_until_reopen
 *   WANTED      none                         1; as FULL, where memory is short (heap_shortage.h)
 *   REOPENING   none; empty, a remote        1 (pinned)                   never
 *               thread will push it
 *
 * Frees to a CURRENT slab go to its class's local list instead, and are counted there. So do frees to a FULL slab whose
 * objects may be cached (object_cache.h). Hardened build: freed objects come to the local list only by refills.
 *
 * Invariant: out + length of freed list + not yet linked = capacity. A local list has objects of the CURRENT slab, and
 * cached ones of FULL and PARTIAL slabs.
 *
 * The owner does not look at its full slabs. The first free by another thread returns such a slab to its owner
 * (cross_list.h, "full"). The mark is set once and stays, whatever the owner does with the slab, until such a free:
 *
 *   marked   mark     the slab
 *   no       clear    its owner looks at it when it is CURRENT or PARTIAL, and marks it before it is FULL
 *   yes      stands   no thread is about to return it
 *   yes      clear    the thread that cleared the mark is about to push it to the owner's `reopened` stack (heap.h);
 *                     the slab must not become EMPTY, nor be marked again, before it is in the stack
 */
#ifndef JW_SLAB_H
#define JW_SLAB_H

#include "backend/page_map.h"
#include "config/size_classes.h"
#include "frontend/cross_list.h"
#include "frontend/heap_key.h"
#include "platform/instructions.h"

enum slab_state { CURRENT, PARTIAL, EMPTY, FULL, WANTED, REOPENING };

/* A slab's number in few bytes; 0: none. */
struct __attribute__((packed)) slab_id {
    uint16_t low;
    uint8_t high;
};

/* The list that the owner frees to, and the budget. */
struct free_target {
    void *first; /* of the list's objects, or an end (sync/free_link.h) */
    uint16_t budget;
    /* of a slab, in the partial list or in the pool: the next slab; in the partial list also the previous one, of the
     * first slab the last. Unused in a heap's local lists */
    struct slab_id next, previous;
};
enum { FREE_TARGET_WORDS = sizeof(struct free_target) / sizeof(uintptr_t) };

/* `key` is written when the granule becomes a slab and when it ceases to be one. `class`, `origin`, `reciprocal` and
 * `last` are written before an object is given out; other threads read them to free it. A thread that frees a huge
 * object may read the record of a slab that is not the object's (slab_has_start), while its owner writes. So `origin`,
 * `reciprocal` and `last` are relaxed. `cross` is shared, and so is the granule's link word (page_map.h), which names
 * the next slab in the reopened stack. The thread that returns this slab writes that word. All else is the owner's. */
struct slab {
    struct cross_list cross;
    uint8_t class;          /* read by others, too */
    _Atomic(uint8_t) state; /* written by the owner, read by rounds (remote_reclaim.h) */
    uint16_t linked : 15;   /* objects that were put into a list so far */
    uint16_t marked : 1;
    uintptr_t key;    /* the owner's (heap.h); 0: no slab. Read by any thread that frees an address */
    uintptr_t origin; /* the first object's address, less 1; while EMPTY, ORIGIN_POISON more: behind the slab */
    uintptr_t reciprocal, last; /* of its class (size_classes.h) */
    struct free_target freed;
    struct free_target *target; /* where its owner's frees go: `freed`, or its class's in the heap */
};

_Static_assert(sizeof(struct slab) <= RECORD_SIZE, "what free needs is in one cache line");
_Static_assert(GRANULE_SIZE / SMALLEST_OBJECT <= INT16_MAX, "a slab's capacity fits in `linked`, one more in a budget");
_Static_assert(SIZE_CLASS_COUNT - 1 <= UINT8_MAX && REOPENING <= UINT8_MAX, "class and state fit in a byte each");
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

static inline void slab_id_copy(struct slab_id *to, const struct slab_id *from) {
    to->low = from->low;
    to->high = from->high;
}

/* Whether the slab's owner has the key. Key 0: whether the granule is no slab. An object's slab keeps its key, so a
 * thread that may free the object needs no order. For other addresses any value may be read. */
static ALWAYS_INLINE bool slab_has_key(const struct slab *slab, uint64_t key) {
    return word_is(&slab->key, key);
}

/* The granule is no slab any more. By the slab's holder. */
static inline void slab_clear_key(struct slab *slab) {
    relaxed_store(&slab->key, 0);
}

/* Not 0 in the child of a fork: new slabs link their objects in random order. 0: in the order of addresses. */
extern uint64_t slab_scatter_secret HIDDEN;

/* The key of a slab's links: 32-bit platforms have room for its lower half. */
static ALWAYS_INLINE uint64_t slab_key(const struct slab *slab) {
    return sizeof slab->key == sizeof(uint64_t) ? slab->key : (frontend_key & ~(uint64_t)UINT32_MAX) | slab->key;
}

/* Writes the origin. By the owner; a thread that frees a foreign address may read the origin meanwhile. */
static ALWAYS_INLINE void slab_set_origin(struct slab *slab, uintptr_t origin) {
    relaxed_store(&slab->origin, origin);
}

/* Whether an address is where an object begins: size_class_last says why. On 64 bits false as well for a foreign
 * address that shares a slab's place in the window, because whole addresses are compared. That holds also where the
 * record changes at that moment (config/size_classes.h, size_class_last). */
static ALWAYS_INLINE bool slab_has_start(const void *object, const struct slab *slab) {
    uintptr_t distance = (uintptr_t)object - word_load(&slab->origin) - 1;
    return product_is_at_most(distance, &slab->reciprocal, &slab->last);
}

/* Reads the state. By the owner. */
static inline enum slab_state slab_state(const struct slab *slab) {
    return (enum slab_state)atomic_load_explicit(&slab->state, memory_order_relaxed);
}

/* FULL or WANTED. */
static inline bool slab_is_full(const struct slab *slab) {
    return slab_state(slab) == FULL || slab_state(slab) == WANTED;
}

/* Writes the state. The budget that belongs to the state must be written before. */
static inline void slab_set_state(struct slab *slab, enum slab_state state) {
    /* [RR1] release: the budget; pairs [RR2]; client remote_epoch */
    atomic_store_explicit(&slab->state, (uint8_t)state, memory_order_release);
}

/* Writes a budget. Rounds read the budget of a FULL, WANTED or PARTIAL slab. */
static ALWAYS_INLINE void free_target_set_budget(struct free_target *target, unsigned budget) {
    relaxed_store(&target->budget, (uint16_t)budget);
}

/* The address of the slab less 1. Not of an EMPTY slab: its origin is poisoned. */
static inline char *slab_origin(const struct slab *slab) {
    return (char *)slab->origin; // NOLINT(performance-no-int-to-ptr)
}

#endif
