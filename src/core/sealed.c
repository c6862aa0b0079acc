/* sealed.c - answers for the objects that are in sealed roots (sealed.h). */
#include "core/sealed.h"

#include "backend/page_map.h"

static _Atomic(size_t) bytes_in_use;

size_t sealed_bytes(void) {
    return NEAR_LOAD(bytes_in_use);
}

/* The word of the bitmap that has the bit of the address, and the bit. */
static table_word *word_of(const void *address, uint32_t *bit) {
    size_t place = ((uintptr_t)address & (ROOT_SIZE - 1)) / SMALLEST_OBJECT;
    *bit = 1u << place % SEALED_BITS;
    uintptr_t bitmap = atomic_load_explicit(root_word_at(root_of(granule_of(address))), memory_order_relaxed);
    return (table_word *)(bitmap << BITMAP_SHIFT) + place / SEALED_BITS; // NOLINT(performance-no-int-to-ptr)
}

COLD size_t sealed_size(const void *object) {
    uint32_t bit;
    if (!page_map_is_sealed(object) || (uintptr_t)object % SMALLEST_OBJECT) return 0;
    const table_word *word = word_of(object, &bit);
    bool in_use = atomic_load_explicit(word, memory_order_relaxed) & bit;
    return in_use ? leaf_sealed_size(leaf_get(granule_start(granule_of(object)))) : 0;
}

COLD wide_bool sealed_free(void *object) {
    uint32_t bit;
    size_t size = sealed_size(object);
    if (!size) return false;
    table_word *word = word_of(object, &bit);
    /* relaxed: of two threads that free the same object only one goes on, and nothing else passes between them */
    if (!(atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed) & bit)) return false;
    atomic_fetch_sub_explicit(&bytes_in_use, size, memory_order_relaxed);
    return true;
}

COLD void sealed_describe(const void *address, struct found *found) {
    granule_id id = granule_of(address), own = id, start;
    /* to the granule where the large object begins, or to one of the slab's */
    while (leaf_kind(leaf_get(id)) == NONE && id % ROOT_GRANULES) id--;
    struct leaf_word leaf = leaf_get(start = granule_start(id));
    found->state = FOUND_FREE_MEMORY;
    if (leaf_kind(leaf) != SEALED) return;
    found->tier = (enum serving_tier)leaf_sealed_tier(leaf);
    found->size = leaf_sealed_size(leaf);
    if (found->tier == TIER_LARGE) start = id;
    size_t distance = (size_t)(own - start) << JW_GRANULE_SHIFT | ((uintptr_t)address & (GRANULE_SIZE - 1));
    found->state = distance % found->size ? FOUND_INSIDE : sealed_size(address) ? FOUND_IN_USE : FOUND_FREE;
}

void sealed_note(uintptr_t object, size_t size, void *unused) {
    uint32_t bit;
    (void)unused;
    table_word *word = word_of((const void *)object, &bit); // NOLINT(performance-no-int-to-ptr)
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) | bit, memory_order_relaxed);
    atomic_store_explicit(&bytes_in_use, sealed_bytes() + size, memory_order_relaxed);
}
