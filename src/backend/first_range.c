/* first_range.c - cuts the process's first range out of its root, and closes parts of that root. */
#include "backend/first_range.h"

#include "backend/ownership.h"
#include "backend/page_map.h"
#include "backend/root.h"
#include "backend/thrift.h"
#include "base/compiler.h"
#include "base/mixed.h"
#include "config/policy.h"
#include "platform/platform.h"

static _Atomic(uint32_t) first_is_placed;

/* Splits the range as range_cut does, but keeps a random part of it. */
static granule_id cut_anywhere(granule_id range, uint32_t weight, enum slot_code state, uint64_t random) {
    for (uint32_t now = knit_weight(range), before = now; now != weight; before = now) {
        granule_id rest = knit_split(range, weight), other = rest;
        now = rest - range;
        leaf_set(rest, leaf_held());
        random = mixed(random);
        ASSUME(before > 0);
        if (random % before >= now && before - now >= weight) {
            other = range;
            range = rest;
            now = before - now;
        }
        range_place_known(other, before - now, state);
    }
    thrift_notice();
    return range;
}

COLD wide_bool range_close(enum root_use use, uint32_t weight) {
    granule_id part = range_acquire(use, UNMAPPED, weight);
    if (!part) return false;
    part = cut_anywhere(part, weight, UNMAPPED, 0);
    if (root_close_part(part)) {
        free_granules_add(UNMAPPED, (intptr_t)weight);
        return true;
    }
    range_place_known(part, weight, UNMAPPED);
    return false;
}

/* Halves the process's first range while a half has at least the weight, and FIRST_PART bytes. Each time keeps one half
 * at random, and closes the other. */
static granule_id close_parts(granule_id range, uint32_t weight, uint64_t random) {
    for (uint32_t now = knit_weight(range) / 2; now >= weight && now >= FIRST_PART / GRANULE_SIZE; now /= 2) {
        granule_id other = knit_split(range, now);
        leaf_set(other, leaf_held());
        if (random >> (now % 63) & 1) {
            granule_id kept = other;
            other = range;
            range = kept;
        }
        range_place_known(other, now, UNMAPPED);
        range_close(root_use(other), now);
    }
    return range;
}

uint64_t first_range_random(void) {
    if (atomic_load_explicit(&first_is_placed, memory_order_relaxed) ||
        atomic_exchange_explicit(&first_is_placed, true, memory_order_relaxed))
        return 0;
    return platform_random_place();
}

COLD granule_id first_range_cut(granule_id range, uint32_t weight, enum slot_code state, uint64_t random) {
    if (page_map.base) range = close_parts(range, weight, random);
    return cut_anywhere(range, weight, state, random);
}
