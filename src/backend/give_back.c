/* give_back.c - gives pages back to the OS, and places the ranges that had them. */
#include "backend/give_back.h"

#include "backend/ownership.h"
#include "backend/thrift_counters.h"
#include "base/align.h"
#include "base/compiler.h"
#include "base/near.h"
#include "platform/platform.h"

static _Atomic(uint32_t) os_refused; /* a boolean: madvise has failed since the last look */

/* Whether the range has a whole OS page. A small range may have none if OS pages are larger than a granule. */
static bool can_give_back(granule_id range, uint32_t weight) {
    uintptr_t page = platform_page_size(), start = (uintptr_t)granule_address(range);
    return align_up(start, page) + page <= start + weight * GRANULE_SIZE;
}

wide_bool give_back_pages(void *start, size_t size) {
    uintptr_t page = platform_page_size(), from = align_up((uintptr_t)start, page);
    uintptr_t to = align_down((uintptr_t)start + size, page);
    if (from >= to) return true;
    wide_bool given = platform_discard((void *)from, to - from);
    if (given) thrift_count_given_back(to - from);
    else atomic_store_explicit(&os_refused, true, memory_order_relaxed);
    return given;
}

bool give_back_range(granule_id range, uint32_t weight) {
    return can_give_back(range, weight) && give_back_pages(granule_address(range), weight * GRANULE_SIZE);
}

/* With OS pages larger than a granule: joins the range with its siblings without pages, and gives back each page that
 * the range had a part of and that is free by now. So no page stays where such ranges meet. False: none of it is free,
 * and the range has no such sibling; or the OS refuses. */
static NOINLINE bool give_back_joined(granule_id *range, uint32_t *weight) {
    uintptr_t page = platform_page_size(), start = (uintptr_t)granule_address(*range);
    uintptr_t from = align_down(start, page), to = align_up(start + *weight * GRANULE_SIZE, page);
    uint32_t own = *weight;
    *range = range_join_unmapped(*range, weight);
    start = (uintptr_t)granule_address(*range);
    if (from < start) from += page;
    if (to > start + *weight * GRANULE_SIZE) to -= page;
    return from < to ? give_back_pages((void *)from, to - from) : *weight > own; // NOLINT(performance-no-int-to-ptr)
}

size_t give_back_and_place(granule_id range, uint32_t weight, bool room) {
    bool small = LIKELY(platform_page_size() <= GRANULE_SIZE);
    if (!(small ? give_back_range(range, weight) : give_back_joined(&range, &weight)))
        return range_place_refused(range, weight, room);
    range_place_known(range, weight, UNMAPPED);
    return 0;
}

wide_bool give_back_was_refused(void) {
    return NEAR_LOAD(os_refused);
}

bool give_back_take_refusal(void) {
    return atomic_exchange_explicit(&os_refused, false, memory_order_relaxed);
}
