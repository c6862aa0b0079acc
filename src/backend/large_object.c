/* large_object.c - large objects: allocate, free, shrink and grow the range that each of them has. */
#include "backend/large_object.h"

#include "backend/hardened_hooks.h"
#include "backend/range_fetch.h"
#include "backend/root.h"
#include "backend/thrift.h"
#include "base/align.h"
#include "base/compiler.h"
#include "platform/assert.h"
#include "platform/misuse.h"

static uint32_t granules_for(size_t bytes) {
    return (uint32_t)((bytes + GRANULE_SIZE - 1) >> JW_GRANULE_SHIFT);
}

/* Called if the object begins where its range begins. Notes the weight in the second granule's word: free reads it, and
 * after the free it is a trace (leaf_word.h). In the reserve nothing is noted: so large_cache must look. */
static void note_weight(granule_id range, uint32_t weight) {
    if (weight > 1) leaf_set(range + 1, root_use(range) == FOR_RESERVE ? leaf_none() : leaf_trace_before(weight));
}

void *large_allocate_cached(struct range_cache *cache, size_t size) {
    uint32_t granules = (uint32_t)((size - 1) >> JW_GRANULE_SHIFT) + 1;
    granule_id range = range_cache_pop(cache, granules, cached_fitting(granules));
    if (!range) return NULL;
    leaf_set(range, leaf_large(0)); /* the weight is still noted */
    return granule_address_fast(range);
}

static char *fetch_object(size_t size, size_t alignment, enum fetch_effort effort, bool *zeroed) {
    uint32_t weight = granules_for(size + large_slack(alignment) + LARGE_GUARD);
    granule_id range = JW_SECURE ? hardened_hooks.large_fetch(weight, zeroed) : 0;
    if (!range) range = range_fetch(FOR_OTHER_RANGES, weight, effort, zeroed);
    if (!range) return NULL;
    char *object = (char *)align_up((uintptr_t)granule_address(range), alignment);
    granule_id offset = granule_of(object) - range;
    if (offset) leaf_set(range + offset, leaf_interior(0, offset));
    else note_weight(range, weight_round_up(weight));
    leaf_set(range, leaf_large(offset));
    return object;
}

void *large_allocate(size_t size, size_t alignment, bool *zeroed) {
    return fetch_object(size, alignment, root_may_serve_large() ? FETCH_AT_LAST : FETCH_FROM_ROOTS, zeroed);
}

void *large_allocate_mapped(size_t size) {
    bool zeroed;
    return fetch_object(size, 1, FETCH_MAPPED, &zeroed);
}

/* Finds the range of a large object. *offset: the range's granules before it. 0: no large object begins there. */
static granule_id range_of(const void *object, uint32_t *offset) {
    granule_id id = granule_of(object), range = granule_start(id);
    *offset = id - range;
    bool ours = page_map_owns(object) && ((uintptr_t)object & (GRANULE_SIZE - 1)) == 0;
    return ours && leaf_same(leaf_get(range), leaf_large(*offset)) ? range : 0;
}

/* Reads the weight that note_weight has noted; 0: none, as of a range of a single granule. Knit knows its weight. */
static ALWAYS_INLINE uint32_t noted_weight(granule_id range) {
    uint32_t weight = (range + 1) % ROOT_GRANULES ? leaf_traced_before(leaf_get(range + 1)) : 0;
    invariant(!weight || weight == knit_weight(range));
    return weight;
}

/* Frees the object: from now on the caller holds the object's range. */
static ALWAYS_INLINE granule_id begin_free_large(void *object, uint32_t *weight) {
    uint32_t offset;
    granule_id range = range_of(object, &offset);
    /* relaxed: of two threads that free the same object only one goes on, and nothing else passes between them */
    if (!range || !leaf_change(range, leaf_large(offset), leaf_held())) misuse(INVALID_FREE, object, 0);
    *weight = knit_weight(range);
    if (offset) leaf_set(range + offset, leaf_trace_here(*weight - offset));
    return range;
}

granule_id large_try_begin_free(void *object) {
    granule_id range = granule_of(object);
    bool ours = ((uintptr_t)object & (GRANULE_SIZE - 1)) == 0 && page_map_owns_fast(object);
    return ours && leaf_change(range, leaf_large(0), leaf_held()) ? range : 0; /* relaxed: as above */
}

void large_cache(struct range_cache *cache, granule_id range) {
    uint32_t weight = noted_weight(range);
    if (UNLIKELY(!weight)) {
        weight = knit_weight(range);
        if (root_use(range) == FOR_RESERVE) return thrift_place_freed(range, weight); /* whichever thread frees it */
    }
    range_cache_push(cache, range, weight);
}

void large_free(void *object) {
    uint32_t weight;
    granule_id range = begin_free_large(object, &weight);
    thrift_place_freed(range, weight);
}

#if QUARANTINED
granule_id large_begin_free(void *object) {
    uint32_t weight;
    return begin_free_large(object, &weight);
}

void *large_allocate_held(granule_id range) {
    note_weight(range, knit_weight(range));
    leaf_set(range, leaf_large(0));
    return granule_address(range);
}
#endif

size_t large_usable_size(const void *object) {
    uint32_t offset;
    granule_id range = range_of(object, &offset);
    return range ? large_bytes_in(knit_weight(range) - offset) : 0;
}

wide_bool large_serves(const void *object, size_t size) {
    granule_id range = granule_of(object);
    bool is_large = size >= BACKEND_MIN && size <= BACKEND_MAX - LARGE_GUARD; /* a smaller one may be a mid object */
    if (!is_large || (uintptr_t)object % GRANULE_SIZE != 0 || !page_map_owns_fast(object)) return false;
    return leaf_same(leaf_get(range), leaf_large(0)) &&
           noted_weight(range) == weight_round_up(granules_for(size + LARGE_GUARD));
}

bool large_shrink(void *object, size_t size) {
    uint32_t offset;
    granule_id range = range_of(object, &offset);
    if (!range) return false;
    uint32_t now = knit_weight(range);
    uint32_t weight = weight_round_up(offset + granules_for(size));
    /* the caller has the object, and so holds its range: no other thread can join or take the range */
    for (uint32_t before = now; now > weight; before = now) {
        granule_id rest = knit_split(range, weight);
        now = rest - range;
        /* before the rest is placed: a walk must not pass over it (granules_to_next) */
        if (offset == 0) note_weight(range, now);
        leaf_set(rest, leaf_held());
        thrift_place_freed(rest, before - now);
    }
    return true;
}

/* Joins the sibling behind the range: a mapped one, or an unmapped one if the root's use allows that. *state: the
 * sibling's. Returns its granules; 0: none has joined. */
static uint32_t join_any_right(granule_id range, enum slot_code *state) {
    *state = MAPPED;
    uint32_t more = range_join_right(range, MAPPED);
    if (more || (root_use(range) == FOR_SMALL_SLABS && root_count() > 1)) return more;
    *state = UNMAPPED;
    return range_join_right(range, UNMAPPED);
}

bool large_grow(void *object, size_t size) {
    uint32_t offset, granules = granules_for(size);
    granule_id range = range_of(object, &offset);
    if (!range || size > BACKEND_MAX || offset + granules > ROOT_GRANULES) return false;
    uint32_t old = knit_weight(range), now = old, wanted = weight_round_up(offset + granules);
    bool without = false; /* memory has joined that has no pages */
    enum slot_code state = MAPPED;
    for (uint32_t more = 1; now < wanted && more; now += more)
        if ((more = join_any_right(range, &state)) && state == UNMAPPED) without = true;
    bool grown = now >= wanted;
    if (grown) range_cut(range, wanted, state);
    /* what has joined counts as in use already */
    if (!grown || (without && !thrift_admit(0))) {
        /* parts without memory count as mapped until a round has looked at them */
        range_cut(range, old, MAPPED);
        return false;
    }
    if (offset == 0) note_weight(range, wanted);
    return true;
}

size_t large_good_size(size_t size) {
    return large_bytes_in(weight_round_up(granules_for(size + LARGE_GUARD)));
}
