/* backend.c - fetch and place of ranges, for slabs and for large objects; what the tier does at a fork. */
#include "backend/backend.h"

#include "backend/first_range.h"
#include "backend/hardened_hooks.h"
#include "backend/mapping_cache.h"
#include "backend/range_fetch.h"
#include "backend/reserve.h"
#include "backend/root.h"
#include "backend/watermark.h"
#include "base/compiler.h"
#include "platform/assert.h"
#include "platform/host.h"
#include "platform/platform.h"

void range_cut(granule_id range, uint32_t weight, enum slot_code state) {
    uint32_t now = knit_weight(range);
    if (now == weight) return;
    for (uint32_t before = now; now != weight; before = now) {
        granule_id rest = knit_split(range, weight);
        now = rest - range;
        leaf_set(rest, leaf_held());
        range_place_known(rest, before - now, state);
    }
    thrift_notice();
}

/* Acquires a range from a root of that use. If there is none, a large object or a mid slab may take a range from a root
 * for small slabs. That range must be mapped if there is a second root. In the hardened build the uses stay apart. */
static granule_id acquire_for_use(enum root_use use, enum slot_code state, uint32_t weight) {
    granule_id range = range_acquire(use, state, weight);
    bool both = !CLASSES_APART && use == FOR_OTHER_RANGES && (state == MAPPED || root_count() <= 1);
    return range || !both ? range : range_acquire(FOR_SMALL_SLABS, state, weight);
}

/* A part of the first root that was not mapped until now. */
static granule_id open_part(enum root_use use, uint32_t weight) {
    granule_id part = root_open_part(use, weight);
    if (part) free_granules_add(UNMAPPED, -(intptr_t)knit_weight(part));
    return part;
}

/* Takes a range without pages. If there is none, opens a closed part or makes a root. If that fails, takes a range from
 * a root of the other use. COLD for its size: page faults follow. */
static COLD granule_id acquire_unmapped(enum root_use use, uint32_t weight) {
    if (root_has_lost_parts()) thrift_complete_roots();
    granule_id range = acquire_for_use(use, UNMAPPED, weight);
    if (!range) range = open_part(use, weight);
    if (!range && !root_window_is_full())
        range = root_create(!CLASSES_APART && root_count() == 0 ? FOR_SMALL_SLABS : use);
    return range ? range : range_acquire(root_other_use(use), UNMAPPED, weight);
}

/* Joins a mapped range with free memory on its right, mapped or not, to a range of the weight. Tried where cached
 * memory would go back for new memory: a program of objects from 8 B to 1 MB (rptest) has a sixth less page faults
 * so. 0: no such range was found. */
static granule_id acquire_joined(enum root_use use, uint32_t weight) {
    granule_id range = range_acquire_below(use, weight);
    if (range) {
        uint32_t now = knit_weight(range);
        enum slot_code state = MAPPED;
        if (knit_weight_with_right(range) >= weight && thrift_admit(weight - now))
            for (uint32_t more = 1; now < weight && more; now += more)
                if (!(more = range_join_right(range, state = UNMAPPED))) more = range_join_right(range, state = MAPPED);
        if (now >= weight) {
            range_cut(range, weight, state);
            return range;
        }
        range_place_known(range, now, MAPPED); /* what has no memory counts as mapped until a round has looked at it */
    }
    thrift_notice(); /* a range that was tried in vain has been placed */
    return 0;
}

/* Gives cached ranges to the Nest, where they join. */
static void free_cached(struct range_cache *cache) {
    bool little = watermark_note_peak().all <= RANGE_CACHE_LITTLE;
    range_cache_shrink(cache, little ? 1 : RANGE_CACHE_FREED_FROM, little ? 0 : RANGE_CACHE_KEPT);
}

/* Before memory without pages: a larger range from this thread's range cache, one that its cached ranges have become in
 * the Nest, or a joined one. */
static COLD granule_id acquire_cached(enum root_use use, uint32_t weight) {
    struct range_cache *cache = range_cache_mine;
    granule_id range = 0;
    if (cache && !(range = range_cache_pop(cache, weight, CACHED_LARGER))) {
        free_cached(cache);
        range = acquire_for_use(use, MAPPED, weight);
    }
    return range || !thrift_lacks_headroom(weight) ? range : acquire_joined(use, weight);
}

/* Called when no mapped range of the use is free. Tries a range without pages, then a mapped range of the other use.
 * FETCH_AT_LAST: then gives back unused memory, and tries again. */
static granule_id acquire_as_last_resort(enum root_use use, uint32_t weight, uint32_t most, enum fetch_effort effort,
                                         enum slot_code *state) {
    granule_id range = 0;
    if (thrift_admit(most) && (range = acquire_unmapped(use, weight))) *state = UNMAPPED;
    if (!range) range = range_acquire(root_other_use(use), MAPPED, weight);
    if (!range && effort == FETCH_AT_LAST && thrift_make_room(ROOT_SIZE) && limits_admit(weight) &&
        (range = acquire_unmapped(use, weight)))
        *state = UNMAPPED;
    return range;
}

/* Acquires a free range of at least the weight, and tells its state. 0: there is none. */
static granule_id acquire_best(enum root_use use, uint32_t weight, uint32_t most, enum fetch_effort effort,
                               enum slot_code *state) {
    *state = MAPPED;
    granule_id range = reserve_is_mine() ? range_acquire(FOR_RESERVE, MAPPED, weight) : 0;
    if (!range && use == FOR_OTHER_RANGES) thrift_before_fetch(weight);
    if (!range) range = acquire_for_use(use, MAPPED, weight);
    if (!range && range_place_deferred()) {
        range = acquire_for_use(use, MAPPED, weight);
        thrift_notice();
    }
    if (effort == FETCH_MAPPED) return range;
    if (!range && use == FOR_OTHER_RANGES) range = acquire_cached(use, weight);
    if (!range && effort != FETCH_FROM_ROOTS) range = acquire_as_last_resort(use, weight, most, effort, state);
    else if (!range && (range = acquire_for_use(use, UNMAPPED, weight))) *state = UNMAPPED;
    return range;
}

/* Where a limit leaves no room for records: gives up a free range's addresses. False: there is none, or the OS refuses
 * (or would take whole pages, or might map something else there). */
static bool close_a_range(void) {
    if (!page_map.base || platform_page_size() > GRANULE_SIZE) return false;
    for (uint32_t weight = CLOSED_MOST; weight > 0; weight /= 2)
        if (range_close(FOR_OTHER_RANGES, weight)) return true;
    return false;
}

/* Fetches as range_fetch does; of a larger free range up to `most` granules, a weight. */
static granule_id fetch_up_to(enum root_use use, uint32_t weight, uint32_t most, enum fetch_effort effort,
                              bool *zeroed) {
    enum slot_code state;
    granule_id range = acquire_best(use, weight, most, effort, &state);
    if (!range) return 0;
    while (use == FOR_SMALL_SLABS && UNLIKELY(!root_admits_slabs(range)))
        if (!close_a_range()) {
            range_place(range, state);
            return 0;
        }
    *zeroed = state == UNMAPPED && platform_page_size() <= GRANULE_SIZE;
    if (most > weight) {
        uint32_t found = knit_weight(range);
        weight = found < most ? found : most;
    }
    uint64_t random = state == UNMAPPED ? first_range_random() : 0;
    if (random) return first_range_cut(range, weight, state, random);
    range_cut(range, weight, state);
    return range;
}

granule_id range_fetch(enum root_use use, uint32_t weight, enum fetch_effort effort, bool *zeroed) {
    weight = weight_round_up(weight);
    return fetch_up_to(use, weight, weight, effort, zeroed);
}

granule_id backend_fetch_granules(uint32_t *count, bool *zeroed) {
    *count = weight_round_up(*count);
    if (!limits_admit(*count)) *count = 1;
    granule_id first = fetch_up_to(FOR_SMALL_SLABS, 1, *count, FETCH_WITH_ROOT, zeroed);
    if (!first) return 0;
    *count = knit_weight(first);
    uint32_t part;
    for (granule_id range = first, end = first + *count; end - range > 1; range += part) {
        part = end - range < NODE_SLOTS ? end - range : NODE_SLOTS;
        if (range + part < end) knit_split(range, part);
        knit_split_all(range, part);
    }
    return first;
}

void *backend_fetch(enum root_use use, uint32_t weight, bool *zeroed) {
    /* not FETCH_AT_LAST: an object that finds no mid slab becomes a large object; the frontend itself makes room */
    granule_id range = range_fetch(use, weight, FETCH_WITH_ROOT, zeroed);
    return range ? granule_address(range) : NULL;
}

void backend_place_known(granule_id range, uint32_t weight) {
    invariant(weight == knit_weight(range));
    leaf_set(range, leaf_held());
    thrift_place_freed(range, weight);
}

void backend_place(granule_id range) {
    backend_place_known(range, knit_weight(range));
}

/* Several threads may fork at once: each unlocks what it locked. */
OF_FORKING_THREAD uint64_t lists_locked[NESTS];

COLD void backend_before_fork(void) {
    for (unsigned nest = 0; nest < nests_in_use(); nest++) lists_locked[nest] = nest_lock_all(&ownership.nests[nest]);
}

COLD void backend_after_fork(bool child) {
    for (unsigned nest = 0; nest < nests_in_use(); nest++) {
        nest_unlock_all(&ownership.nests[nest], child ? ~(uint64_t)0 : lists_locked[nest]);
        lists_locked[nest] = 0; /* the reserve's Nests may come into use just after the next lock */
    }
    if (!child) return;
    reserve_forget();
    root_forget_threads();
    reclaimer_forget();
    range_cache_after_fork();
}

void backend_forget_sealed(void) {
    root_forget_sealed();
    ownership_forget_sealed();
    for (unsigned peaks = 0; peaks < 2; peaks++) watermark_age_peak();
}

_Static_assert(RANGE_CLASSES <= RANGE_CLASSES_MOST, "each class has its statistics");

COLD void backend_statistics(struct backend_statistics *statistics) {
    size_t mapped = free_granules(MAPPED) << JW_GRANULE_SHIFT, unmapped = free_granules(UNMAPPED) << JW_GRANULE_SHIFT;
    size_t all = root_count() * ROOT_SIZE + mapping_cache_bytes();
    size_t unused = (NESTS - nests_in_use()) * sizeof(struct nest); /* no page of theirs was touched */
    *statistics = (struct backend_statistics){.class_count = RANGE_CLASSES};
    statistics->roots = root_count();
    statistics->in_use = all > mapped + unmapped ? all - mapped - unmapped : 0;
    statistics->cached_mapped = mapped;
    statistics->cached_unmapped = unmapped;
    statistics->given_back = thrift_given_back();
    statistics->metadata = page_map_metadata(root_count()) + sizeof ownership - unused;
    statistics->rounds = NEAR_LOAD(thrift_counters.rounds);
    statistics->deferred = NEAR_LOAD(ownership.deferrals);
    statistics->rolled_back = NEAR_LOAD(ownership.rollbacks);
    statistics->sync_reclaims = NEAR_LOAD(thrift_counters.sync_reclaims);
    for (unsigned range_class = 0; range_class < RANGE_CLASSES; range_class++) {
        statistics->classes[range_class].granules = weight_of_class(range_class);
        for (unsigned nest = 0; nest < NESTS; nest++)
            *(nest_is_unmapped(nest) ? &statistics->classes[range_class].unmapped_ranges
                                     : &statistics->classes[range_class].mapped_ranges) +=
                nest_count(&ownership.nests[nest], range_class);
    }
    if (JW_SECURE) hardened_hooks.leave_out_unused(statistics);
}
