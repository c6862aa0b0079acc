/* guard.c - fetching and placing slabs with a guard behind them (guard.h). */
#include "hardened/guard.h"

#include "backend/give_back.h"
#include "backend/knit.h"
#include "backend/ownership.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"
#include "platform/random.h"
#include "sync/id_stack.h"

static _Atomic(uint32_t) guard_count, most_guards = GUARDS_MOST;

/* A reserve of mappings, which guard_refused unmaps for other uses: pages with access and without in turn. 0: not made
 * yet. A refusal comes before or after the last step of keep_mappings, and whichever is later unmaps the pages. */
static _Atomic(uintptr_t) kept_mappings;
enum { KEPT_NONE = 1, KEPT_BEING_MADE, KEPT_SIZE = KEPT_MAPPINGS * GRANULE_SIZE };

/* Relaxed: nobody accesses the pages. */
static bool keep_instead_of(uintptr_t expected, uintptr_t wanted) {
    return atomic_compare_exchange_strong_explicit(&kept_mappings, &expected, wanted, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static COLD void keep_mappings(void) {
    if (!keep_instead_of(0, KEPT_BEING_MADE)) return;
    char *pages = platform_reserve(KEPT_SIZE, GRANULE_SIZE, "jwmalloc: kept");
    /* the first page stays accessible: its mapping may wait to be unmapped */
    for (size_t at = GRANULE_SIZE; pages && at < KEPT_SIZE; at += 2 * GRANULE_SIZE)
        platform_protect(pages + at, GRANULE_SIZE, false);
    /* if a guard was refused meanwhile, the process needs these mappings for other uses at once */
    if (pages && !keep_instead_of(KEPT_BEING_MADE, (uintptr_t)pages)) unmap_or_defer(pages, KEPT_SIZE);
}

COLD void guard_refused(void) {
    uint32_t now = atomic_load_explicit(&guard_count, memory_order_relaxed);
    atomic_store_explicit(&most_guards, now / 2, memory_order_relaxed);
    uintptr_t pages = atomic_exchange_explicit(&kept_mappings, KEPT_NONE, memory_order_relaxed);
    if (pages > KEPT_BEING_MADE) unmap_or_defer((void *)pages, KEPT_SIZE); // NOLINT(performance-no-int-to-ptr)
}

bool guards_in_ranges(void) {
    return option(&options.guard_rate) > 0 && platform_page_size() <= GRANULE_SIZE;
}

bool guard_begin(void) {
    uint32_t before = atomic_fetch_add_explicit(&guard_count, 1, memory_order_relaxed);
    if (before == GUARDS_BEFORE_KEPT && platform_page_size() <= GRANULE_SIZE) keep_mappings();
    if (before < atomic_load_explicit(&most_guards, memory_order_relaxed)) return true;
    guard_end();
    return false;
}

void guard_end(void) {
    atomic_fetch_sub_explicit(&guard_count, 1, memory_order_relaxed);
}

bool guards_may_wait(void) {
    return atomic_load_explicit(&guard_count, memory_order_relaxed) <
           atomic_load_explicit(&most_guards, memory_order_relaxed) / 2;
}

/* Ranges whose guard the OS refused to make writable again (the limit of data was reached), linked by their link words.
 * They are closed as a whole, which makes room below the limit. Rounds try again, and so does a thread that needs
 * memory. */
static struct id_stack shut_ranges;

static size_t bytes_of_range(granule_id range) {
    return (size_t)knit_weight(range) << JW_GRANULE_SHIFT;
}

static void push_shut(granule_id range) {
    leaf_set(range, leaf_held());
    id_stack_push(&shut_ranges, range, range_set_next);
}

static bool open_guard(granule_id range) {
    return platform_protect(granule_address(range), bytes_of_range(range), true);
}

/* Opens and places the ranges of the first range's root. *left: the ranges of other roots, and those that the OS
 * refuses to open. *placed: set if there was one to place. False: the OS has refused one. */
static bool open_root(granule_id range, granule_id *left, bool *placed) {
    granule_id root = root_of(range);
    bool opens = true; /* after the first refusal the OS is not asked again */
    *left = 0;
    for (granule_id next; range; range = next) {
        next = range_next(range);
        if (opens && root_of(range) == root && (opens = open_guard(range))) {
            range_place(range, give_back_range(range, knit_weight(range)) ? UNMAPPED : MAPPED);
            *placed = true;
        } else {
            range_set_next(range, *left);
            *left = range;
        }
    }
    return opens;
}

/* One root after the other: a root that is whole is unmapped, which makes room for the next one's guards. */
bool guard_round(bool *left) {
    granule_id range = id_stack_take_all(&shut_ranges);
    bool placed = false;
    while (range && open_root(range, &range, &placed)) continue;
    *left = range;
    for (granule_id next; range; range = next) {
        next = range_next(range);
        push_shut(range);
    }
    return placed;
}

/* Bytes of a range behind its slab of `weight` granules. */
static size_t rest_of(granule_id range, uint32_t weight) {
    return (size_t)(knit_weight(range) - weight) << JW_GRANULE_SHIFT;
}

void *guarded_fetch(enum root_use use, uint32_t weight, bool *zeroed) {
    uint32_t rate = (uint32_t)option(&options.guard_rate);
    if (!guards_in_ranges() || random_less(rate) != 0 || !guard_begin()) return backend_fetch(use, weight, zeroed);
    char *slab = backend_fetch(use, weight + 1, zeroed);
    if (!slab) {
        guard_end();
        return backend_fetch(use, weight, zeroed);
    }
    char *guard = slab + ((size_t)weight << JW_GRANULE_SHIFT);
    size_t bytes = rest_of(granule_of(slab), weight);
    if (!*zeroed) platform_discard(guard, bytes);
    /* if refused, the range is just larger than its slab */
    if (!platform_protect(guard, bytes, false)) guard_refused();
    return slab;
}

bool guard_open(granule_id range) {
    guard_end();
    /* while other ranges are shut, this range is shut, too: that makes room to open their guards */
    if (id_stack_is_empty(&shut_ranges) && open_guard(range)) return true;
    platform_discard(granule_address(range), bytes_of_range(range));
    platform_protect(granule_address(range), bytes_of_range(range), false);
    push_shut(range);
    thrift_wake();
    return false;
}

void guarded_place(granule_id range, uint32_t weight, enum slot_code state) {
    if (rest_of(range, weight) && !guard_open(range)) return;
    if (state == MAPPED) backend_place(range);
    else range_place(range, state);
}
