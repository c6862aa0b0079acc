/* backend_jemalloc.c - our frontend and midend on jemalloc's backend: ranges and large objects come from mallocx.
 *
 * Stands in for src/backend/backend.c and large_object.c in the peer jw+jemalloc (tools/jw/bench_peers.py). That peer
 * shows what each half of jwmalloc does, as the paper's variant of that name. For measuring only: memory of jemalloc's
 * that shares a place in the window with other memory is refused, statistics are empty.
 */
#include "backend/backend.h"

#include "backend/large_object.h"
#include "platform/misuse.h"

/* Of jemalloc, built with the prefix je_. */
void *je_mallocx(size_t size, int flags);
void je_sdallocx(void *object, size_t size, int flags);
size_t je_sallocx(const void *object, int flags);
size_t je_xallocx(void *object, size_t size, size_t extra, int flags);

enum { GRANULE_FLAGS = JW_GRANULE_SHIFT }; /* jemalloc's flags begin with the alignment's logarithm */

/* Enters each root's place that the memory touches, for granule_address(); false when another one has it. */
static bool enter(const char *memory, size_t size) {
    uintptr_t root = (uintptr_t)memory & ~(uintptr_t)(ROOT_SIZE - 1);
    for (; root < (uintptr_t)memory + size; root += ROOT_SIZE) {
        _Atomic(uintptr_t) *place = &page_map.slot_owner[granule_of((void *)root) / ROOT_GRANULES];
        /* It may be that of a mapping that is gone. */
        uintptr_t known = slot_word((void *)root);
        while (known != root) {
            if (slot_is_claimed(known)) return false;
            if (atomic_compare_exchange_weak_explicit(place, &known, root, memory_order_relaxed, memory_order_relaxed))
                break;
        }
    }
    return true;
}

static char *fetch(size_t size, int flags) {
    char *memory = je_mallocx(size, flags);
    if (memory && !enter(memory, size)) {
        je_sdallocx(memory, size, flags);
        return NULL;
    }
    return memory;
}

void *backend_fetch(enum root_use use, uint32_t weight, bool *zeroed) {
    (void)use;
    size_t size = (size_t)weight << JW_GRANULE_SHIFT;
    char *memory = fetch(size, GRANULE_FLAGS);
    if (!memory) return NULL;
    *zeroed = false;
    leaf_set(granule_of(memory), leaf_held());
    return memory;
}

granule_id backend_fetch_granules(uint32_t *count, bool *zeroed) {
    *count = 1;
    void *memory = backend_fetch(FOR_SMALL_SLABS, 1, zeroed);
    return memory ? granule_of(memory) : 0;
}

static void give_back(granule_id range) {
    char *memory = granule_address(range);
    leaf_set(range, leaf_none());
    je_sdallocx(memory, je_sallocx(memory, GRANULE_FLAGS), GRANULE_FLAGS);
}

void backend_place(granule_id range) {
    give_back(range);
}

void backend_place_known(granule_id range, uint32_t weight) {
    (void)weight;
    give_back(range);
}

void *large_allocate(size_t size, size_t alignment, bool *zeroed) {
    int shift = alignment > GRANULE_SIZE ? __builtin_ctzll(alignment) : JW_GRANULE_SHIFT;
    char *object = fetch(size, shift);
    if (!object) return NULL;
    *zeroed = false;
    leaf_set(granule_of(object), leaf_large(0));
    return object;
}

/* jemalloc knows which of its memory has pages. */
void *large_allocate_mapped(size_t size) {
    (void)size;
    return NULL;
}

/* jemalloc has caches of its own: nothing is cached before it. */
void *large_allocate_cached(struct range_cache *cache, size_t size) {
    (void)cache, (void)size;
    return NULL;
}

granule_id large_try_begin_free(void *object) {
    (void)object;
    return 0;
}

void large_cache(struct range_cache *cache, granule_id range) {
    (void)cache;
    give_back(range);
}

static bool is_large(const void *object) {
    return page_map_owns(object) && ((uintptr_t)object & (GRANULE_SIZE - 1)) == 0 &&
           leaf_same(leaf_get(granule_of(object)), leaf_large(0));
}

void large_free(void *object) {
    if (!is_large(object)) misuse(INVALID_FREE, object, 0);
    give_back(granule_of(object));
}

wide_bool large_serves(const void *object, size_t size) {
    (void)object, (void)size;
    return false;
}

size_t large_usable_size(const void *object) {
    return is_large(object) ? je_sallocx(object, GRANULE_FLAGS) : 0;
}

bool large_shrink(void *object, size_t size) {
    if (!is_large(object)) return false;
    je_xallocx(object, size, 0, GRANULE_FLAGS);
    return true;
}

bool large_grow(void *object, size_t size) {
    return is_large(object) && je_xallocx(object, size, 0, GRANULE_FLAGS) >= size;
}

size_t large_good_size(size_t size) {
    return (size + GRANULE_SIZE - 1) & ~(size_t)(GRANULE_SIZE - 1);
}

void backend_before_fork(void) {
}

/* jemalloc has handlers of its own. */
void backend_after_fork(bool child) {
    if (child) reclaimer_forget();
}

/* No root of ours has objects, so none is sealed. */
void backend_forget_sealed(void) {
}

void backend_statistics(struct backend_statistics *statistics) {
    *statistics = (struct backend_statistics){.metadata = page_map_metadata(0)};
}
