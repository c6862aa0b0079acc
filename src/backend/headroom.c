/* headroom.c - gives cached memory back down to a limit. */
#include "backend/headroom.h"

#include <limits.h>

#include "backend/give_back.h"
#include "backend/limits.h"
#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/reclaimer.h"
#include "backend/thrift_counters.h"
#include "backend/watermark.h"
#include "base/compiler.h"
#include "config/options.h"

static _Atomic(uint32_t) at_peak; /* a boolean: new memory sets it if the peak rises, else clears it, as a round */

/* The mapped Nest with the smallest ranges. *range_class: from this class on; set to the one that is found, or to
 * RANGE_CLASSES if there is none. */
static unsigned smallest_mapped(unsigned *range_class) {
    unsigned found = 0, least = RANGE_CLASSES;
    for (unsigned nest = 0; nest < ORDINARY_NESTS; nest++) {
        unsigned next = nest_is_unmapped(nest) ? RANGE_CLASSES : nest_next_class(&ownership.nests[nest], *range_class);
        if (next < least) least = next, found = nest;
    }
    *range_class = least;
    return found;
}

/* Gives back about this many granules: cached mappings, then ranges, the smallest first, as the largest can serve most
 * requests. `request`: granules that come into use. It bounds the number of ranges, and ranges of more than an eighth
 * of it (HEADROOM_PART) go before smaller ones. 0: there is no request and no bound.
 *
 * With the largest first, a program with objects from 8 B to 1 MB (rptest) had 2.4 times the page faults; with the
 * smallest that suffice 1.4 times. */
static COLD void give_ranges_back(size_t granules, size_t request) {
    size_t dropped = mapping_cache_drain(ANY_BUFFER, granules);
    thrift_count_given_back(dropped);
    dropped >>= JW_GRANULE_SHIFT;
    granules -= dropped < granules ? dropped : granules;
    unsigned most = request > 0 ? HEADROOM_RANGES + (unsigned)(request / HEADROOM_GRANULES) : UINT_MAX;
    unsigned range_class = class_of_weight((uint32_t)request / HEADROOM_PART + 1);
    for (unsigned vain = 0; granules > 0 && most > 0;) {
        unsigned nest = smallest_mapped(&range_class);
        if (range_class == RANGE_CLASSES) {
            if (request < HEADROOM_PART) return;
            range_class = 0; /* at last the smaller ones */
            request = 0;
            continue;
        }
        granule_id range = range_acquire_from(nest, range_class);
        if (!range) { /* only a hint was left, which is cleared now, or another thread is at the range */
            if (++vain % ORDINARY_NESTS == 0) range_class++;
            continue;
        }
        uint32_t weight = weight_of_class(range_class);
        if (give_back_and_place(range, weight, false)) { /* without a whole OS page, or the OS refuses it */
            if (give_back_was_refused()) return;
            range_class++;
            continue;
        }
        granules -= weight < granules ? weight : granules;
        most--;
    }
}

void thrift_give_back_above_watermark(size_t freed) {
    size_t cached = free_granules(MAPPED), least = watermark_without_thread();
    if (cached > least) give_ranges_back(cached - least, freed);
}

void thrift_give_back_mappings(size_t limit) {
    size_t cached = free_granules(MAPPED);
    if (!reclaimer_lives() && cached > limit) thrift_count_given_back(mapping_cache_drain(ANY_BUFFER, cached - limit));
}

void thrift_yield_to_pressure(void) {
    if (UNLIKELY(limits_are_pressed())) give_ranges_back(limits_above_soft(0), 0);
}

static void note_at_peak(wide_bool above) {
    atomic_store_explicit(&at_peak, above, memory_order_relaxed);
}

/* Gives cached granules back until the rest and `granules` new ones are within the limit. If no limit of the program
 * asks for it, no more ranges than suit the request: what is left goes with the next new memory, or with a round. */
static void make_headroom(size_t granules, size_t cached, size_t limit) {
    if (option(&options.cache_percent) == 0 && limit > watermark_minimum()) limit = watermark_minimum();
    size_t above = cached + granules > limit ? cached + granules - limit : 0;
    size_t soft = limits_above_soft(granules), hard = limits_above(&options.limit_hard, granules);
    if (soft > above) above = soft;
    if (hard > above) above = hard;
    if (above > 0 && cached > 0) give_ranges_back(above < cached ? above : cached, soft + hard > 0 ? 0 : granules);
}

bool thrift_make_headroom(size_t granules) {
    /* notes the peak even if little is cached: most memory is in use just when more is wanted */
    size_t cached = free_granules(MAPPED);
    struct usage usage = watermark_note_peak();
    note_at_peak(watermark_rises(usage, granules));
    make_headroom(granules, cached, watermark_beside_new(usage));
    return limits_admit(granules);
}

bool thrift_lacks_headroom(size_t granules) {
    struct usage usage = watermark_note_peak();
    return free_granules(MAPPED) + granules > watermark_beside_new(usage);
}

void thrift_forget_peak(void) {
    note_at_peak(false);
}

wide_bool thrift_is_at_peak(void) {
    return NEAR_LOAD(at_peak);
}
