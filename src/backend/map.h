/* map.h - from an address to what the allocator knows of it, in one load.
 *
 * Tables hold three 32-bit words and the frontend's record per granule (76 B together), indexed by the low bits of the
 * granule's number - the window. A root claims its slot of the window before use, so that no two of them share an
 * index; any other address, a huge object's included, may share one, which the slab's own check or map_owns() sees.
 *
 *   leaf   what begins at this granule (kinds below)
 *   node   the word of the Knit node whose unit ends here (knit.h); where none does: a root's use
 *   link   place of the range that begins here: in its parent node, and in a Nest
 *   record the frontend's (frontend/slab.h); its key is the owning heap's and 0 elsewhere: what free() reads.
 *          Where no root is, records can only be read, so that they count for no limit
 *
 *   leaf   31 30    28 27                    0
 *          | 1 |          heap number         |   a frontend slab, owned by that heap
 *          | 0 |  kind   | payload            |   all others
 *
 *   kind       payload                          who may write the word
 *   NONE       0; trace of a large object       a granule inside a range, or nothing of ours. A trace is left by who
 *              freed: here (23), before (22),   frees the object: in its own granule if that is no range's first, else
 *              granules (21..0)                 in the next. It means something only inside a free range (misuse)
 *   FREE       nest (bits 24-26), prev          the range's holder; prev: the holder of the list's lock
 *   MID        class (bits 24-27), prev         as FREE
 *   LARGE      granules up to the object        allocating and freeing thread (compare-exchange on free)
 *   INTERIOR   class (24-27) if of a mid slab,  the holder: granules 1.. of a mid slab, aligned pointers into a range
 *              granules back to the start
 *   DEFERRED   state (24-25), not acquired (26) the holder, on its way to or on a deferred list
 *   HELD       0                                the holder, in transit
 *
 *   link   | 31 in list | 30..28 slot in parent | 27..24 parent's unit, 15: none | 23..0 next range or Nest slot |
 *
 * The words are accessed relaxed: a range's words belong to whoever holds the range, and holding passes on by the
 * acquire/release operations of Nest, Knit and the deferred lists.
 */
#ifndef JW_MAP_H
#define JW_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/geometry.h"

typedef _Atomic(uint32_t) record_word;

/* A mask only gains bits, when the tables have doubled, and then no id changes (map.c). So of a live object's address
 * any mask that a thread may read says the same: the object was made after the doubling that it needs, and came to the
 * thread with that. Compilers do not read atomic words as an instruction's operand, which costs one more on the hit
 * path: where no tool looks for races, the masks are read plainly. */
#if JW_FIRST_WINDOW_SHIFT == JW_WINDOW_SHIFT
typedef uintptr_t mask_word;
#else
typedef _Atomic(uintptr_t) mask_word;
#endif

#ifdef __has_feature
#define MASK_RACES_ARE_SEEN __has_feature(thread_sanitizer)
#elif defined __SANITIZE_THREAD__
#define MASK_RACES_ARE_SEEN 1
#else
#define MASK_RACES_ARE_SEEN 0
#endif

static ALWAYS_INLINE uintptr_t mask_get(const mask_word *mask) {
#if JW_FIRST_WINDOW_SHIFT == JW_WINDOW_SHIFT
    return *mask;
#elif JW_CHECKED || MASK_RACES_ARE_SEEN
    return atomic_load_explicit(mask, memory_order_relaxed);
#else
    return *(const uintptr_t *)mask;
#endif
}

/* A granule's number within the window; 0 is never a granule of ours. */
typedef uint32_t granule_id;

enum leaf_kind { NONE, FREE, MID, LARGE, INTERIOR, DEFERRED, HELD };

/* A slot's word: 0 before the first claim, the address while claimed; then what it was stays, for the message about a
 * second free (docs/misuse.md). */
#define SLOT_GONE 1u

#define LEAF_SLAB 0x80000000u
#define LEAF_KIND_SHIFT 28
#define LEAF_HIGH_SHIFT 24
#define ID_MASK 0x00ffffffu
#define TRACE_HERE 0x00800000u
#define TRACE_BEFORE 0x00400000u

struct map {
    _Alignas(64) mask_word record_mask; /* of a record's offset in its table; this line is what free reads */
    char *records;
    mask_word mask; /* of a granule's number */
    record_word *leaf;
    record_word *node, *link;
    _Atomic(uintptr_t) *roots; /* by slot: | address of the root that claims it, or did | gone | */
    char *base;                /* of the roots' addresses, where the tables grow; NULL: the kernel chooses */
};

extern struct map map HIDDEN;

/* Makes the tables; false when there is no room for even the smallest. Called once, by the first slow path. */
bool map_start(void);

static ALWAYS_INLINE granule_id granule_of(const void *address) {
    return (granule_id)(((uintptr_t)address >> JW_GRANULE_SHIFT) & mask_get(&map.mask));
}

/* The record of an address's granule. */
static ALWAYS_INLINE void *record_of(const void *address) {
    return map.records + ((uintptr_t)address >> (JW_GRANULE_SHIFT - RECORD_SHIFT) & mask_get(&map.record_mask));
}

static inline void *record_at(granule_id id) {
    return map.records + ((size_t)id << RECORD_SHIFT);
}

static inline granule_id record_id(const void *record) {
    return (granule_id)((uintptr_t)((const char *)record - map.records) >> RECORD_SHIFT);
}

static ALWAYS_INLINE uint32_t leaf_of(const void *address) {
    return atomic_load_explicit(&map.leaf[((uintptr_t)address >> JW_GRANULE_SHIFT) & mask_get(&map.mask)],
                                memory_order_relaxed);
}

static inline uint32_t leaf_word(enum leaf_kind kind, uint32_t payload) {
    return (uint32_t)kind << LEAF_KIND_SHIFT | payload;
}

static inline enum leaf_kind leaf_kind(uint32_t leaf) {
    return (enum leaf_kind)(leaf >> LEAF_KIND_SHIFT);
}

static inline uint32_t leaf_get(granule_id id) {
    return atomic_load_explicit(&map.leaf[id], memory_order_relaxed);
}

static inline void leaf_set(granule_id id, uint32_t word) {
    atomic_store_explicit(&map.leaf[id], word, memory_order_relaxed);
}

static inline uint32_t link_get(granule_id id) {
    return atomic_load_explicit(&map.link[id], memory_order_relaxed);
}

static inline void link_set(granule_id id, uint32_t word) {
    atomic_store_explicit(&map.link[id], word, memory_order_relaxed);
}

/* The next range, where the range is in a list through its link: its holder's, or the list's (sync/id_stack.h). */
static inline granule_id range_next(granule_id range) {
    return link_get(range) & ID_MASK;
}

static inline void range_set_next(granule_id range, granule_id next) {
    link_set(range, (link_get(range) & ~ID_MASK) | next);
}

/* Address of a granule inside a claimed root. */
static inline char *granule_address(granule_id id) {
    uintptr_t root = atomic_load_explicit(&map.roots[id / ROOT_GRANULES], memory_order_relaxed);
    return (char *)root + (size_t)(id % ROOT_GRANULES) * GRANULE_SIZE;
}

static inline uintptr_t slot_word(const void *address) {
    return atomic_load_explicit(&map.roots[granule_of(address) / ROOT_GRANULES], memory_order_relaxed);
}

static inline bool slot_is_claimed(uintptr_t word) {
    return word && !(word & SLOT_GONE);
}

/* Whether the address lies in a root of ours. */
static inline bool map_owns(const void *address) {
    uintptr_t root = (uintptr_t)address & ~(uintptr_t)(ROOT_SIZE - 1);
    return root && slot_word(address) == root;
}

/* Claims the slot of an address: whose it is then. False when it is taken, or none of ours can have it. */
bool map_claim(char *address);

/* Lets the granules of a root be slabs. False when the OS refuses. */
bool map_admit_slabs(granule_id root);

/* Reserves up to *count roots side by side: *count says how many, of which only the first has its slot. NULL when the
 * OS refuses, or no slot is free. */
char *map_reserve(size_t *count);

/* Gives the root and its slot back. False when the OS refuses to unmap: then nothing has changed. */
bool map_release(char *root);

/* Gives back the slot and the records of a root that is gone already. */
void map_abandon(char *root);

/* Slots that there may be. */
size_t map_slots(void);

/* Bytes of the tables that claimed slots may have touched, but for so many slots. */
size_t map_metadata(size_t untouched);

/* Calls `visit` for each claimed slot whose root or mapping begins at `id`. */
void map_walk(void (*visit)(granule_id id, void *context), void *context);

#endif
