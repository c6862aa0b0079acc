/* give_back.c - gives pages back to the OS, and places the ranges that had them. */
#include "backend/give_back.h"

#include "backend/ownership.h"
#include "backend/thrift_counters.h"
#include "base/align.h"
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

size_t give_back_and_place(granule_id range, uint32_t weight, bool room) {
    if (!give_back_range(range, weight)) return range_place_refused(range, weight, room);
    range_place_known(range, weight, UNMAPPED);
    return 0;
}

wide_bool give_back_was_refused(void) {
    return NEAR_LOAD(os_refused);
}

bool give_back_take_refusal(void) {
    return atomic_exchange_explicit(&os_refused, false, memory_order_relaxed);
}
