/* thrift_buffers.c - ranges in Thrift's two buffers: how they come in, are given back, and join. */
#include "backend/thrift_buffers.h"

#include "backend/give_back.h"
#include "backend/headroom.h"
#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/reclaimer.h"
#include "backend/reserve.h"
#include "backend/thrift_counters.h"
#include "backend/timed_purge.h"
#include "backend/watermark.h"
#include "base/compiler.h"
#include "config/policy.h"

static _Atomic(size_t) rollbacks_seen; /* of ownership, when ranges were last rejoined */

/* Whether the range's pages go back now. The reserve keeps its pages as long as a thread is marked. */
static bool pages_must_go(granule_id range, uint32_t weight) {
    if (UNLIKELY(root_use(range) == FOR_RESERVE)) return !reserve_is_used();
    size_t cached = free_granules(MAPPED) + weight;
    return UNLIKELY(cached > watermark_minimum() && cached > watermark_renew());
}

void thrift_place(granule_id range, uint32_t weight) {
    if (pages_must_go(range, weight)) {
        if (give_back_and_place(range, weight, false)) return;
        thrift_count_sync_reclaim();
        if (reclaimer_state() == RUNNING) reclaimer_wake();
        else thrift_give_back_above_watermark(weight); /* what may wait has become less by this free */
    } else {
        range_place_known(range, weight, MAPPED);
    }
}

static size_t empty_nest(unsigned nest, bool room) {
    size_t still_mapped = 0;
    for (unsigned range_class = RANGE_CLASSES; range_class-- > 0;) {
        granule_id range;
        for (unsigned left = ROUND_TAKES; left > 0 && (range = range_acquire_from(nest, range_class)); left--) {
            size_t stays = give_back_and_place(range, weight_of_class(range_class), room);
            still_mapped += stays;
            /* the buffers were swapped meanwhile: the range that stays is in this Nest, and the loop would find it */
            if (stays && nest_is_active(nest)) break;
        }
    }
    return still_mapped;
}

size_t thrift_reclaim(unsigned buffer, bool room) {
    size_t still_mapped = 0;
    thrift_count_given_back(mapping_cache_drain(buffer, SIZE_MAX));
    unsigned uses = reserve_is_used() ? FOR_RESERVE : FOR_RESERVE + 1;
    for (unsigned use = 0; use < uses; use++) still_mapped += empty_nest(nest_of_use((enum root_use)use, buffer), room);
    return still_mapped;
}

/* Gives back the ranges of one class in one Nest, until the OS refuses one that comes back there. False: the time is
 * over, and purge->place is where the next call begins. */
static bool purge_class(struct purge *purge, unsigned nest, unsigned range_class) {
    granule_id range;
    for (unsigned left = ROUND_TAKES; left > 0 && (range = range_acquire_from(nest, range_class)); left--) {
        size_t stays = give_back_and_place(range, weight_of_class(range_class), true);
        bool again = stays && nest_is_active(nest); /* the range is in this Nest again */
        if (purge_is_over(purge)) {
            purge->place += again; /* else the next call would begin with this range, and each one after it */
            return false;
        }
        if (again) break;
    }
    return true;
}

/* A place is a class of a Nest: first those of the standby buffer, the larger classes of each Nest first. */
COLD wide_bool thrift_purge_ranges(struct purge *purge) {
    enum { PURGED_CLASSES = 2 * ROOT_USES * RANGE_CLASSES };
    unsigned active = ownership_active();
    for (unsigned buffer = 0; buffer < 2 && purge->place == 0; buffer++)
        thrift_count_given_back(mapping_cache_drain(buffer, SIZE_MAX));
    for (; purge->place < PURGED_CLASSES; purge->place++) {
        unsigned turn = purge->place / RANGE_CLASSES, range_class = RANGE_CLASSES - 1 - purge->place % RANGE_CLASSES;
        unsigned nest = nest_of_use((enum root_use)(turn % ROOT_USES), turn < ROOT_USES ? !active : active);
        if (!purge_class(purge, nest, range_class)) return false;
    }
    return true;
}

void thrift_rejoin_unmapped(void) {
    size_t rollbacks = NEAR_LOAD(ownership.rollbacks);
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
    return give_back_take_refusal() || NEAR_LOAD(ownership.rollbacks) != NEAR_LOAD(rollbacks_seen);
}
