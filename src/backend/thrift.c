/* thrift.c - what waits in Thrift's two buffers, how much may wait (the watermark), and how it is given back. */
#include "backend/thrift.h"

#include "backend/mapping_cache.h"
#include "backend/thrift_buffers.h"
#include "base/align.h"
#include "base/compiler.h"
#include "base/mixed.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"

/* Peak of granules in use: since the last round, and in the round before. Noted when memory without pages comes into
 * use, when a range is freed while much is cached, and when a thread looks how much it may cache. */
static _Atomic(size_t) most_in_use[2];
static _Atomic(bool) at_peak;        /* as thrift_make_headroom saw it last */
static _Atomic(uint32_t) os_refused; /* a boolean: madvise has failed since the last look */
static _Atomic(size_t) rollbacks_seen;
struct thrift_counters thrift_counters;

static void counter_add(_Atomic(size_t) *counter, size_t amount) {
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* Whether the range has a whole OS page: not always, where the kernel's pages are larger than our granule. */
static bool can_give_back(granule_id range, uint32_t weight) {
    uintptr_t page = platform_page_size(), start = (uintptr_t)granule_address(range);
    return align_up(start, page) + page <= start + weight * GRANULE_SIZE;
}

bool thrift_discard(void *start, size_t size) {
    uintptr_t page = platform_page_size(), from = align_up((uintptr_t)start, page);
    uintptr_t to = align_down((uintptr_t)start + size, page);
    if (from >= to) return true;
    bool given = platform_discard((void *)from, to - from);
    if (given) counter_add(&thrift_counters.given_back, to - from);
    else atomic_store_explicit(&os_refused, true, memory_order_relaxed);
    return given;
}

/* Gives the pages of a held range back. False when they stay. */
static bool give_range_back(granule_id range, uint32_t weight) {
    return can_give_back(range, weight) && thrift_discard(granule_address(range), weight * GRANULE_SIZE);
}

/* Returns the granules that stay mapped. */
static size_t give_back_or_keep(granule_id range, uint32_t weight, bool room) {
    if (!give_range_back(range, weight)) return range_place_refused(range, weight, room);
    range_place_known(range, weight, UNMAPPED);
    return 0;
}

size_t thrift_give_back(granule_id range, uint32_t weight) {
    return give_back_or_keep(range, weight, false);
}

static size_t empty_nest(unsigned nest, bool room) {
    size_t still_mapped = 0;
    for (unsigned class = RANGE_CLASSES; class -- > 0;) {
        granule_id range;
        for (unsigned left = ROUND_TAKES; left > 0 && (range = range_acquire_from(nest, class)); left--) {
            size_t stays = give_back_or_keep(range, weight_of_class(class), room);
            still_mapped += stays;
            /* the buffers were swapped meanwhile: the loop would find the range that it put back again */
            if (stays && nest % NESTS_OF_USE == ownership_active()) break;
        }
    }
    return still_mapped;
}

size_t thrift_reclaim(unsigned buffer, bool room) {
    size_t still_mapped = 0;
    counter_add(&thrift_counters.given_back, mapping_cache_drain(buffer, SIZE_MAX));
    for (unsigned use = 0; use < ROOT_USES; use++) still_mapped += empty_nest(buffer + use * NESTS_OF_USE, room);
    return still_mapped;
}

void thrift_rejoin_unmapped(void) {
    size_t rollbacks = atomic_load_explicit(&ownership.rollbacks, memory_order_relaxed);
    if (atomic_exchange_explicit(&rollbacks_seen, rollbacks, memory_order_relaxed) == rollbacks) return;
    for (unsigned i = 0; i < ROOT_USES * RANGE_CLASSES; i++) {
        unsigned nest = i % ROOT_USES * NESTS_OF_USE + UNMAPPED_NEST, class = i / ROOT_USES;
        granule_id chain = 0, range; /* linked by the link words, which belong to the holder */
        for (unsigned left = ROUND_TAKES; left > 0 && (range = range_acquire_from(nest, class)); left--) {
            range_set_next(range, chain);
            chain = range;
        }
        while ((range = chain)) {
            chain = range_next(range);
            range_place(range, UNMAPPED);
        }
    }
}

bool thrift_take_refusals(void) {
    return atomic_exchange_explicit(&os_refused, false, memory_order_relaxed) ||
           atomic_load_explicit(&ownership.rollbacks, memory_order_relaxed) !=
               atomic_load_explicit(&rollbacks_seen, memory_order_relaxed);
}

void thrift_count_round(void) {
    counter_add(&thrift_counters.rounds, 1);
}

void thrift_count_outside(intptr_t bytes) {
    counter_add(&thrift_counters.outside, (size_t)bytes);
}

void thrift_age_peak(void) {
    size_t most = atomic_exchange_explicit(&most_in_use[0], 0, memory_order_relaxed);
    atomic_store_explicit(&most_in_use[1], most, memory_order_relaxed);
}

static size_t cache_minimum(void) {
    return option(&options.cache_min) >> JW_GRANULE_SHIFT;
}

static size_t outside_roots(void) {
    return atomic_load_explicit(&thrift_counters.outside, memory_order_relaxed);
}

/* Granules in use: all, and those of huge objects among them. */
struct usage {
    size_t all, huge;
};

/* The one step that notes the peak. Returns what is in use now: the questions below ask with it, and note nothing. */
static NOINLINE struct usage peak_note(void) {
    size_t cached = range_cached(MAPPED) + range_cached(UNMAPPED);
    size_t granules = root_count() * ROOT_GRANULES + (mapping_cache_bytes() >> JW_GRANULE_SHIFT);
    size_t huge = outside_roots() >> JW_GRANULE_SHIFT, all = (granules > cached ? granules - cached : 0) + huge;
    if (all > atomic_load_explicit(&most_in_use[0], memory_order_relaxed))
        atomic_store_explicit(&most_in_use[0], all, memory_order_relaxed);
    return (struct usage){.all = all, .huge = huge};
}

/* Granules that may wait mapped while so many are in use. The limit has two parts: the peak of the last two rounds less
 * what is in use, and a share of that peak. The share is at least a minimum. So a program that frees much and soon
 * allocates it again needs no new pages, and its peak is hardly higher. */
static size_t limit_above_peak(struct usage usage, size_t percent, size_t least) {
    size_t most = atomic_load_explicit(&most_in_use[0], memory_order_relaxed);
    size_t before = atomic_load_explicit(&most_in_use[1], memory_order_relaxed);
    if (before > most) most = before;
    if (usage.all > most) most = usage.all; /* another thread's store, or a round's end, may have passed by */
    size_t share = (most > usage.huge ? most - usage.huge : 0) * percent / 100;
    return most - usage.all + (share > least ? share : least);
}

size_t watermark_renew(void) {
    size_t percent = option(&options.cache_percent);
    /* without the reclamation thread only the minimum: no round comes while the program is quiet */
    if (!reclaimer_lives() || percent == 0) return cache_minimum();
    return limit_above_peak(peak_note(), percent, cache_minimum());
}

size_t watermark_room(size_t watermark) {
    size_t cached = range_cached(MAPPED);
    return watermark > cached ? (watermark - cached) << JW_GRANULE_SHIFT : 0;
}

void thrift_place(granule_id range, uint32_t weight) {
    size_t cached = range_cached(MAPPED) + weight;
    if (UNLIKELY(cached > cache_minimum() && cached > watermark_renew())) {
        bool given = give_range_back(range, weight);
        range_place_known(range, weight, given ? UNMAPPED : MAPPED);
        if (given) {
            counter_add(&thrift_counters.sync_reclaims, 1);
            reclaimer_wake();
        }
    } else {
        range_place_known(range, weight, MAPPED);
    }
}

/* Gives back about this many granules, cached mappings and the largest ranges first. */
static void give_ranges_back(size_t granules) {
    size_t dropped = mapping_cache_drain(ANY_BUFFER, granules);
    counter_add(&thrift_counters.given_back, dropped);
    dropped >>= JW_GRANULE_SHIFT;
    granules -= dropped < granules ? dropped : granules;
    for (unsigned class = RANGE_CLASSES; class -- > 0;)
        for (unsigned nest = 0; nest < NESTS; nest++) {
            granule_id range;
            while (!nest_is_unmapped(nest) && granules > 0 && (range = range_acquire_from(nest, class))) {
                uint32_t weight = weight_of_class(class);
                bool given = give_range_back(range, weight);
                range_place_known(range, weight, given ? UNMAPPED : MAPPED);
                if (!given) return;
                granules -= weight < granules ? weight : granules;
            }
        }
}

void thrift_trim(void) {
    size_t cached = range_cached(MAPPED), least = cache_minimum();
    if (cached > least) give_ranges_back(cached - least);
}

static void note_at_peak(bool above) {
    if (above != atomic_load_explicit(&at_peak, memory_order_relaxed))
        atomic_store_explicit(&at_peak, above, memory_order_relaxed);
}

/* Gives back what of the cached granules is above the limit together with `granules` new ones. */
static void make_headroom(size_t granules, size_t cached, size_t limit) {
    if (option(&options.cache_percent) == 0 && limit > cache_minimum()) limit = cache_minimum();
    if (cached == 0 || cached + granules <= limit) return;
    size_t above = cached + granules - limit;
    give_ranges_back(above < cached ? above : cached);
}

void thrift_make_headroom(size_t granules) {
    /* the limit is computed even if little waits: when more is wanted, most is in use */
    size_t cached = range_cached(MAPPED);
    size_t limit = limit_above_peak(peak_note(), PERCENT_BESIDE_NEW, cache_minimum() / PART_BESIDE_NEW);
    note_at_peak(cached + granules > limit);
    make_headroom(granules, cached, limit);
}

bool thrift_is_at_peak(void) {
    return atomic_load_explicit(&at_peak, memory_order_relaxed);
}

/* At most the bytes of all roots can be given back; in the hardened build also quarantined huge objects. The OS must
 * have the rest now, which a probe tells. With 32 bits a probe says nothing: two gaps may become one. */
bool thrift_may_help(size_t size) {
    size_t ours =
        (root_count() + root_spares()) * ROOT_SIZE + (QUARANTINED ? outside_roots() : mapping_cache_addresses());
    if (size <= ours || sizeof(void *) < 8) return true;
    size_t page = platform_page_size(), beyond = align_down(size - ours, page);
    void *probe = beyond ? platform_reserve(beyond, page, "jwmalloc: probe") : NULL;
    if (probe) unmap_or_defer(probe, beyond);
    return !beyond || probe;
}

COLD uint64_t thrift_signs(void) {
    uint64_t signs = mixed(range_cached(MAPPED) + mixed(range_cached(UNMAPPED)));
    signs = mixed(signs + root_count() + ((uint64_t)root_spares() << 32));
    signs = mixed(signs + outside_roots() + mapping_cache_bytes());
    return mixed(signs + atomic_load_explicit(&ownership.rollbacks, memory_order_relaxed));
}
