/* page_map.h - from an address to what the allocator knows of it, in one load.
 *
 * The tables hold three 32-bit words and the frontend's record for each granule (76 B together). The index is the low
 * bits of the granule's number, its place in the window. A root claims its slot of the window before use, so no two
 * roots share an index. Any other address, also a huge object's, may share its index with a root's: the slab's own
 * check or page_map_owns() tells the two apart.
 *
 *   leaf   what begins at this granule
 *   node   the word of the Knit node whose first unit ends before this granule
 *   link   position of the range that begins here: in its parent node, and in a Nest
 *   record the frontend's (frontend/slab.h). free() reads its key: the owning heap's, or 0 where no slab is.
 *          Records are read-only until their root may have slabs: until then they count only as address space
 *
 * Each word is a small type in its own file: leaf_word.h, node_word.h, range_link.h, slot_word.h. In the node table a
 * root's first granule has the root's use (root.h). In the link table a mid slab's second granule has the slab's state
 * (midend/mid_word.h). No node and no range begins at these granules.
 *
 * page_map.c has the tables and their masks, page_map_slots.c the slots of the window.
 *
 * A leaf and a link are accessed relaxed: they belong to the thread that holds the range. A range passes from one
 * holder to the next by the acquire/release operations of Nest, Knit and the deferred list. Knit's nodes, mid slabs'
 * words and slots of the window have orders of their own.
 */
#ifndef JW_PAGE_MAP_H
#define JW_PAGE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/leaf_word.h"
#include "backend/node_word.h"
#include "backend/range_link.h"
#include "backend/slot_word.h"
#include "base/align.h"
#include "base/compiler.h"
#include "base/near.h"
#include "config/geometry.h"

typedef _Atomic(uint32_t) table_word;

/* Bytes for one granule: in the tables of words, and in all tables but the slot owners'. */
enum { WORDS_SIZE = 3 * sizeof(table_word), TABLES_SIZE = RECORD_SIZE + WORDS_SIZE };

/* A mask only gains bits, when the tables have doubled, and then no id changes (page_map.c). An object that needs a
 * doubling was made after it, and a thread that has got the object sees the doubling, too. So any mask that the thread
 * may read gives the same id for the object. Compilers do not use an atomic word as an instruction's operand, which
 * costs one instruction more on the hit path. So the masks are read plainly where no tool looks for races. */
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

struct page_map {
    _Alignas(64) mask_word record_mask; /* of a record's offset in its table; free reads this cache line */
    char *records;
    mask_word mask; /* of a granule's number */
    table_word *leaf;
    table_word *node, *link;
    _Atomic(uintptr_t) *slot_owner; /* a word for each slot (slot_word.h) */
    char *base;                     /* of the roots' addresses, where the tables grow; NULL: the kernel chooses */
};

extern struct page_map page_map HIDDEN;

/* Makes the tables; false when there is no room even for the smallest. Called once, by the first slow path. */
bool page_map_start(void);

static ALWAYS_INLINE uintptr_t page_map_mask(void) {
#if READS_NEAR
    return NEAR_READ(page_map.mask);
#else
    return mask_get(&page_map.mask);
#endif
}

static ALWAYS_INLINE granule_id granule_of(const void *address) {
    return (granule_id)(((uintptr_t)address >> JW_GRANULE_SHIFT) & page_map_mask());
}

/* The record of an address's granule. */
static ALWAYS_INLINE void *record_of(const void *address) {
    return page_map.records +
           ((uintptr_t)address >> (JW_GRANULE_SHIFT - RECORD_SHIFT) & mask_get(&page_map.record_mask));
}

static inline void *record_at(granule_id id) {
    return NEAR_READ(page_map.records) + ((size_t)id << RECORD_SHIFT);
}

static inline granule_id record_id(const void *record) {
    return (granule_id)((uintptr_t)((const char *)record - NEAR_READ(page_map.records)) >> RECORD_SHIFT);
}

/* _fast: the same, inline. */
static ALWAYS_INLINE struct leaf_word leaf_get_fast(granule_id id) {
    return (struct leaf_word){atomic_load_explicit(&NEAR_READ(page_map.leaf)[id], memory_order_relaxed)};
}

static inline struct leaf_word leaf_get(granule_id id) {
    return leaf_get_fast(id);
}

static ALWAYS_INLINE struct leaf_word leaf_of(const void *address) {
    return leaf_get(granule_of(address));
}

static inline void leaf_set(granule_id id, struct leaf_word leaf) {
    atomic_store_explicit(&NEAR_READ(page_map.leaf)[id], leaf.raw, memory_order_relaxed);
}

/* Granules from `id` to the next one where a slab may begin. `leaf`: the word of `id`. Passes over a large object, as
 * far as its weight is noted (large_object.c). A slab that takes the object's place meanwhile may be missed. */
static ALWAYS_INLINE uint32_t granules_to_next(granule_id id, struct leaf_word leaf) {
    if (LIKELY(!leaf_same(leaf, leaf_large(0))) || (id + 1) % ROOT_GRANULES == 0) return 1;
    uint32_t weight = leaf_traced_before(leaf_get(id + 1));
    return weight ? weight : 1;
}

/* One atomic step; false where the word is not `from`. */
static inline bool leaf_change(granule_id id, struct leaf_word from, struct leaf_word to) {
    uint32_t expected = from.raw;
    return atomic_compare_exchange_strong_explicit(&NEAR_READ(page_map.leaf)[id], &expected, to.raw,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* The first granule of the range, object or slab that the granule belongs to. */
granule_id granule_start(granule_id id);

/* The kind of the memory that an object is in. `leaf`: the word of the object's own granule. */
static ALWAYS_INLINE enum leaf_kind object_kind(const void *object, struct leaf_word leaf) {
    return leaf_kind(leaf_get(leaf_start(granule_of(object), leaf)));
}

static inline struct range_link range_link_get(granule_id range) {
    return (struct range_link){atomic_load_explicit(&NEAR_READ(page_map.link)[range], memory_order_relaxed)};
}

static inline void range_link_set(granule_id range, struct range_link link) {
    atomic_store_explicit(&NEAR_READ(page_map.link)[range], link.raw, memory_order_relaxed);
}

/* The next range in a list that goes through the links: a list of the holder, or a lock-free one (sync/id_stack.h). */
static inline granule_id range_next(granule_id range) {
    return range_link_following(range_link_get(range));
}

static inline void range_set_next(granule_id range, granule_id next) {
    range_link_set(range, range_link_with_following(range_link_get(range), next));
}

static inline _Atomic(struct node_word) *node_at(granule_id id) {
    return (_Atomic(struct node_word) *)&NEAR_READ(page_map.node)[id];
}

/* Words of other uses: a root's, where the node table has no node's word, and a mid slab's, where no range begins. */
static inline table_word *root_word_at(granule_id root) {
    return &NEAR_READ(page_map.node)[root];
}

static ALWAYS_INLINE table_word *mid_word_at(granule_id slab) {
    return &NEAR_READ(page_map.link)[slab + 1];
}

/* Address of a granule inside a claimed root. _fast: the same, inline. */
static ALWAYS_INLINE char *granule_address_fast(granule_id id) {
    uintptr_t root = atomic_load_explicit(&NEAR_READ(page_map.slot_owner)[id / ROOT_GRANULES], memory_order_relaxed);
    return (char *)root + (size_t)(id % ROOT_GRANULES) * GRANULE_SIZE;
}
char *granule_address(granule_id id);

static ALWAYS_INLINE uintptr_t slot_word(const void *address) {
    return atomic_load_explicit(&NEAR_READ(page_map.slot_owner)[granule_of(address) / ROOT_GRANULES],
                                memory_order_relaxed);
}

/* Whether the address lies in a root of ours. _fast: the same, inline. */
static ALWAYS_INLINE bool page_map_owns_fast(const void *address) {
    uintptr_t root = align_down((uintptr_t)address, ROOT_SIZE);
    return root && slot_word(address) == root;
}
wide_bool page_map_owns(const void *address);

/* Whether the address lies in a sealed root (core/sealed.h). */
static inline bool page_map_is_sealed(const void *address) {
    return slot_has_sealed(slot_word(address), address);
}

/* Claims the slot for an address. False when the slot is taken, or it is slot 0. */
wide_bool page_map_claim(char *address);

/* Makes the records of a root writable, so that its granules can be slabs. False when the OS refuses. */
wide_bool page_map_admit_slabs(granule_id root);

/* Reserves up to *count adjacent roots, and sets *count to their number. Only the first one has its slot. NULL when the
 * OS refuses, or no slot is free. */
char *page_map_reserve(size_t *count);

/* Disowns and unmaps a root, and unclaims its slot. False when the OS refuses to unmap: then nothing has changed. */
wide_bool page_map_give_back(char *root);

/* Before a root is unmapped: from now on its addresses are not ours (page_map_owns), but its slot is. */
void page_map_disown(char *root);

/* After a root is unmapped: gives back the memory of its records and words, and frees its slot. */
void page_map_unclaim(char *root);

/* The most slots that there can be. */
size_t page_map_slots(void);

/* Bytes of the tables that so many roots may have touched. */
static inline size_t page_map_metadata(size_t roots) {
    return roots * ((size_t)ROOT_GRANULES * TABLES_SIZE + sizeof(uintptr_t));
}

/* Returns the first granule of the first root in the slots from *slot on, and moves *slot behind it. 0: there is none.
 * `sealed`: looks at sealed roots, else at all others. */
granule_id page_map_next(uint32_t *slot, bool sealed);

/* Calls `visit` for each claimed slot whose root, not a sealed one, begins at `id`. */
void page_map_walk(void (*visit)(granule_id id, void *context), void *context);

/* Address of a sealed root. */
static inline char *page_map_sealed_root(granule_id root) {
    uintptr_t word = atomic_load_explicit(&NEAR_READ(page_map.slot_owner)[root / ROOT_GRANULES], memory_order_relaxed);
    return (char *)(word - SLOT_SEALED); // NOLINT(performance-no-int-to-ptr)
}

/* Seals a root. By a thread that is alone in the process. */
void page_map_seal(granule_id root);

#endif
