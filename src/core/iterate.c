/* iterate.c - walks the page map and the directory for objects in use (iterate.h). */
#include "core/iterate.h"

#include "backend/directory.h"
#include "backend/knit.h"
#include "backend/large_object.h"
#include "backend/root.h"
#include "config/policy.h"
#include "core/sealed.h"
#include "core/start.h"
#include "core/tagging.h"
#include "frontend/heap.h"
#include "frontend/heap_table.h"
#include "frontend/slab_cross.h"
#include "frontend/suspect.h"
#include "frontend/thread_heap.h"
#include "midend/mid_slab.h"
#include "platform/platform.h"
#include "platform/tags.h"
#include "platform/tool.h"

struct iteration {
    uintptr_t from, last; /* addresses; `last` belongs to it */
    iterate_function *tell;
    void *argument;
};

static void tell_of(const struct iteration *iteration, uintptr_t address, size_t size) {
    if (address >= iteration->from && address <= iteration->last)
        iteration->tell(tagged_address(address), size, iteration->argument);
}

/* --- Small objects ---------------------------------------------------------------------------------------------- */

/* Which objects of a slab are free, by their number. */
struct free_objects {
    bool has[GRANULE_SIZE / SMALLEST_OBJECT];
};

/* Notes those objects of a list that are in the slab. Racy where the heap's thread works, on purpose: so an address is
 * followed only if it is an object's, in a slab of this class and heap. Hidden from TSan. */
__attribute__((no_sanitize("thread"))) static NOINLINE void note_list(const struct slab *slab, const void *object,
                                                                      struct free_objects *listed) {
    const uint64_t key = slab_key(slab), heeds = tags_pause();
    for (unsigned left = LIST_MOST; left > 0 && !link_is_end(object); left--, object = link_next(object, key)) {
        const struct slab *other = slab_of(object);
        if (!page_map_owns(object) || !leaf_is_slab(leaf_of(object)) || other->class != slab->class ||
            !slab_has_key(other, key) || !slab_has_start(object, other))
            break;
        if (other == slab)
            listed->has[((uintptr_t)object & (GRANULE_SIZE - 1)) / size_classes[slab->class].size] = true;
    }
    tags_heed(heeds);
}

__attribute__((no_sanitize("thread"))) static NOINLINE void tell_of_slab(const struct iteration *iteration,
                                                                         const struct slab *slab) {
    struct free_objects listed;
    const struct heap *heap = heap_of(slab);
    struct cross_word word = cross_get_linked(&slab->cross);
    unsigned class = slab->class, linked = slab->linked;
    if (!heap || class >= SIZE_CLASS_COUNT || slab_state(slab) == EMPTY || cross_is_taken(word)) return;
    for (unsigned i = 0; i < linked; i++) listed.has[i] = false; /* no memset: GenMC takes that for one access */
    note_list(slab, slab->freed.first, &listed);
    note_list(slab, heap->local[class].first, &listed);
    /* the first object; the origin, which the owner changes, is 1 less */
    char *object = granule_address(record_id(slab));
    if (!cross_is_full(word) && cross_count_of(word) > 0) note_list(slab, cross_first(object - 1, word), &listed);
    for (unsigned i = 0; i < linked; i++, object += size_classes[class].size)
        if (!listed.has[i]) tell_of(iteration, (uintptr_t)object, size_classes[class].size);
}

/* --- Mid objects ------------------------------------------------------------------------------------------------ */

/* Adds the bits of the objects in this slab that the cache has. Racy and hidden from TSan, as note_list. */
__attribute__((no_sanitize("thread"))) static NOINLINE uint32_t cached_bits(const struct mid_cache *cache,
                                                                            granule_id slab, unsigned class) {
    uint32_t bits = 0;
    const char *start = granule_address(slab);
    uint64_t object = cache->class_plus_1 == class + 1 ? (uintptr_t)cache->cached : 0, heeds = tags_pause();
    for (unsigned left = MOST_OBJECTS * MOST_OBJECTS; left > 0 && object != 0 && cached_may_lead(object, class + 1);
         left--) {
        const char *cached = (const char *)(uintptr_t)object; // NOLINT(performance-no-int-to-ptr)
        size_t offset = (uintptr_t)cached - (uintptr_t)start;
        if (offset < (size_t)mid_shapes[class].count * mid_shapes[class].size)
            bits |= 1u << offset / mid_shapes[class].size;
        object = cached_link_next(cached, cache->key);
    }
    tags_heed(heeds);
    return bits;
}

static void tell_of_mid_slab(const struct iteration *iteration, granule_id slab, unsigned class) {
    const struct mid_shape *shape = &mid_shapes[class];
    uint32_t free = mid_free_bits(mid_word_get(mid_state_at(slab)));
    for (uint32_t number = 1; number <= heap_count(); number++) {
        const struct heap *heap = heap_by_number(number);
        if (heap) free |= cached_bits(&heap->mid_caches[mid_cache_of(class)], slab, class);
    }
    for (unsigned i = 0; i < shape->count; i++)
        if (!(free & 1u << i))
            tell_of(iteration, (uintptr_t)granule_address(slab) + (size_t)i * shape->size, shape->size);
}

/* --- Large and huge objects ------------------------------------------------------------------------------------- */

static void tell_of_root(granule_id root, void *context) {
    const struct iteration *iteration = context;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++) {
        struct leaf_word leaf = leaf_get(id);
        if (leaf_is_slab(leaf)) {
            const struct slab *slab = record_at(id);
            if (!slab_has_key(slab, 0)) tell_of_slab(iteration, slab);
        } else if (leaf_kind(leaf) == MID) {
            tell_of_mid_slab(iteration, id, leaf_class(leaf));
        } else if (leaf_kind(leaf) == LARGE) {
            uint32_t before = leaf_offset(leaf);
            tell_of(iteration, (uintptr_t)granule_address(id + before), large_bytes_in(knit_weight(id) - before));
        }
    }
}

/* From the last one to the first. The directory ends where addresses of programs end. */
static void tell_of_huge(const struct iteration *iteration) {
    const uintptr_t most = UINTPTR_MAX >> (sizeof(uintptr_t) * 8 - JW_ADDRESS_BITS);
    uintptr_t at = iteration->last < most ? iteration->last : most, word;
    for (const char *start; (start = directory_before((const void *)at, false, &word)); at = (uintptr_t)start - 1) {
        if ((uintptr_t)start < iteration->from) return;
        tell_of(iteration, (uintptr_t)start, huge_word_granules(word) << JW_GRANULE_SHIFT);
    }
}

static void tell_of_sealed_root(const struct iteration *iteration, granule_id root) {
    char *start = page_map_sealed_root(root);
    for (size_t at = 0, size; at < ROOT_SIZE; at += size ? size : SMALLEST_OBJECT)
        if ((size = sealed_size(start + at))) tell_of(iteration, (uintptr_t)start + at, size);
}

void iterate_roots(iterate_function *tell, void *argument) {
    struct iteration iteration = {0, UINTPTR_MAX, tell, argument};
    page_map_walk(tell_of_root, &iteration);
}

bool iterate_objects(uintptr_t from, size_t size, iterate_function *tell, void *argument) {
    uint32_t slot = 0;
    struct iteration iteration = {from, from + size - 1, tell, argument};
    if (GUARDED || replaced_by_tool() || !allocator_start()) return false;
    if (size == 0) return true;
    if (iteration.last < from) iteration.last = UINTPTR_MAX;
    if (heap_has_suspects(thread_heap())) heap_settle_suspects(thread_heap());
    if (!root_walk_begin_or_wait()) return false;
    uint32_t forks = root_forks();
    page_map_walk(tell_of_root, &iteration);
    if (root_forks() == forks) root_walk_end();
    for (granule_id root; JW_SEAL && (root = page_map_next(&slot, true));) tell_of_sealed_root(&iteration, root);
    tell_of_huge(&iteration);
    return true;
}
