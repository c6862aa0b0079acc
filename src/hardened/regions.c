/* regions.c - the empty slabs of each class, and the rounds that give their pages back (regions.h). */
#include "hardened/regions.h"

#include <string.h>

#include "backend/knit.h"
#include "backend/slab_source.h"
#include "backend/thrift.h"
#include "config/policy.h"
#include "hardened/guard.h"
#include "hardened/open.h"
#include "hardened/region_stack.h"
#include "platform/platform.h"

/* Slabs with pages are in two ages, which change roles with each round. */
enum { WITHOUT_PAGES = 2, AGES };
/* A class of ranges has two regions: one of ranges without a guard, and one of those that have kept it. */
enum { GUARDED_REGIONS = SLAB_REGIONS + RANGE_CLASSES, REGIONS = GUARDED_REGIONS + RANGE_CLASSES };

static struct versioned_stack regions[REGIONS][AGES];
static _Atomic(uint32_t) region_fresh;                 /* the age of slabs that were placed since the last round */
static _Atomic(uint32_t) region_places;                /* slabs placed since the start, for rounds */
static _Atomic(uint32_t) region_weights[SLAB_REGIONS]; /* granules of a slab without its guard */

_Atomic(size_t) unused_bytes[2];

static _Atomic(size_t) guarded_bytes; /* of ranges with guards that wait with pages */

/* Bytes in unused_bytes up to which large objects' ranges may wait. 0 once memory has run out: then addresses are what
 * the process lacks, also for others than us. */
static _Atomic(size_t) most_addresses;

static size_t bytes_of(granule_id range) {
    return (size_t)knit_weight(range) << JW_GRANULE_SHIFT;
}

static void note_waiting(unsigned region, unsigned age, size_t more) {
    unused_note(age == WITHOUT_PAGES, more);
    if (region >= GUARDED_REGIONS && age != WITHOUT_PAGES)
        atomic_fetch_add_explicit(&guarded_bytes, more, memory_order_relaxed);
}

/* The bytes are counted before the push, and taken off after the pop. So the count is never below 0. */
static void region_push(unsigned region, unsigned age, granule_id range) {
    note_waiting(region, age, bytes_of(range));
    region_stack_push(&regions[region][age], range);
}

static granule_id region_pop(unsigned region, unsigned age) {
    granule_id range = region_stack_pop(&regions[region][age]);
    if (range) note_waiting(region, age, -bytes_of(range));
    return range;
}

static uint32_t fresh_age(void) {
    return atomic_load_explicit(&region_fresh, memory_order_relaxed);
}

/* Granules of a range without its guard: of a slab's, or of a large object's that has kept its guard. */
static uint32_t weight_without_guard(unsigned region, granule_id range) {
    if (region >= SLAB_REGIONS) return knit_weight(range) - (region >= GUARDED_REGIONS);
    return atomic_load_explicit(&region_weights[region], memory_order_relaxed);
}

/* Gives the pages of a slab or range back, and closes a range that has waited open with its guard. False: the OS
 * refuses one of these. */
static bool empty_range(unsigned region, granule_id range) {
    size_t bytes = bytes_of(range);
    if (!give_back_pages(granule_address(range), bytes)) return false;
    bool waited_open = region >= GUARDED_REGIONS && region_waits_open(bytes);
    return !waited_open || platform_protect(granule_address(range), bytes, false);
}

/* Gives the pages of up to ROUND_TAKES slabs back. False: the OS refuses, and the rest of the work is left. */
static bool give_back_age(unsigned region, unsigned age) {
    /* bounded: other threads may place slabs as fast as this loop takes them */
    for (unsigned left = ROUND_TAKES; left > 0; left--) {
        granule_id range = region_pop(region, age);
        if (!range) return true;
        bool given = empty_range(region, range);
        if (!given && region >= SLAB_REGIONS) { /* the pages go with their root, when all of that is free */
            guarded_place(range, weight_without_guard(region, range), MAPPED);
            continue;
        }
        region_push(region, given ? WITHOUT_PAGES : age, range);
        if (!given) return false;
    }
    return true;
}

static wide_bool regions_round(wide_bool now) {
    uint32_t fresh = fresh_age(), idle = fresh ^ 1;
    bool more = false;
    for (unsigned region = 0; region < REGIONS; region++) {
        more |= !give_back_age(region, idle);
        if (now) more |= !give_back_age(region, fresh);
        more |= !versioned_stack_is_empty(&regions[region][fresh]);
    }
    atomic_store_explicit(&region_fresh, idle, memory_order_relaxed);
    /* else the thread might wait for long, as where little waits */
    thrift_may_hold(atomic_load_explicit(&unused_bytes[false], memory_order_relaxed) >> JW_GRANULE_SHIFT);
    bool left;
    guard_round(&left);
    return left || more;
}

void regions_start(void) {
    size_t limit = platform_address_limit(), window = (size_t)(((uint64_t)1 << JW_WINDOW_SHIFT) - 1);
    size_t most = (limit < window ? limit : window) / REGION_ADDRESSES_SHARE;
    atomic_store_explicit(&most_addresses, most, memory_order_relaxed);
    thrift_on_round(ROUND_RANGES, regions_round);
}

COLD bool regions_give_up(void) {
    bool any = false, left;
    atomic_store_explicit(&most_addresses, 0, memory_order_relaxed);
    for (unsigned region = 0; region < REGIONS; region++)
        for (unsigned age = 0; age < AGES; age++)
            for (granule_id range; (range = region_pop(region, age)); any = true)
                guarded_place(range, weight_without_guard(region, range),
                              age == WITHOUT_PAGES && platform_page_size() <= GRANULE_SIZE ? UNMAPPED : MAPPED);
    if (guard_round(&left)) any = true;
    return any;
}

/* The slab gets new pages: only below the hard limit, which counts its guard, too. */
static granule_id pop_without_pages(unsigned region) {
    granule_id range = region_pop(region, WITHOUT_PAGES);
    /* the pop has counted the range already */
    if (!range || thrift_admit(0)) return range;
    region_push(region, WITHOUT_PAGES, range);
    return 0;
}

/* Memory that had other uses is cleared here, so that a class's slabs are zero but for trailers (hooks.c). */
static void *fetch_zeroed(uint32_t weight) {
    bool zeroed;
    void *slab = guarded_fetch(FOR_SMALL_SLABS, weight, &zeroed);
    if (slab && !zeroed) memset(slab, 0, (size_t)weight << JW_GRANULE_SHIFT);
    return slab;
}

/* A guard has no pages. While its slab is empty, it is counted with the slab. */
static void note_guard(granule_id range, uint32_t weight, bool slab_in_use) {
    size_t bytes = bytes_of(range) - ((size_t)weight << JW_GRANULE_SHIFT);
    if (bytes) unused_note(true, slab_in_use ? bytes : -bytes);
}

/* 0: nothing of the region waits. *empty: whether the slab has no pages. */
static granule_id pop_any(unsigned region, bool *empty) {
    uint32_t fresh = fresh_age();
    granule_id range = region_pop(region, fresh);
    if (!range) range = region_pop(region, fresh ^ 1);
    *empty = !range;
    return range ? range : pop_without_pages(region);
}

static void *fetch_slab(unsigned region, uint32_t weight) {
    bool empty;
    granule_id range = pop_any(region, &empty);
    if (range) return granule_address(range);
    void *slab = fetch_zeroed(weight);
    if (slab) return slab;
    regions_give_up();
    return fetch_zeroed(weight);
}

void *region_fetch(unsigned region, uint32_t weight, bool *zeroed) {
    void *slab = fetch_slab(region, weight);
    if (slab) note_guard(granule_of(slab), weight, true);
    *zeroed = true;
    return slab;
}

/* Without the reclamation thread no round comes while the program is quiet. Then only the minimum may wait, here and in
 * the backend, as in watermark_renew. */
static bool too_much_waits(void) {
    size_t here = atomic_load_explicit(&unused_bytes[false], memory_order_relaxed) >> JW_GRANULE_SHIFT;
    return !reclaimer_lives() && free_granules(MAPPED) + here > watermark_minimum();
}

static size_t bytes_of_objects(void) {
    size_t free = free_granules(MAPPED) + free_granules(UNMAPPED), all = root_count() * ROOT_GRANULES;
    size_t unused = atomic_load_explicit(&unused_bytes[false], memory_order_relaxed) +
                    atomic_load_explicit(&unused_bytes[true], memory_order_relaxed);
    intptr_t bytes = (intptr_t)((all - free) << JW_GRANULE_SHIFT) - (intptr_t)unused;
    return bytes > 0 ? (size_t)bytes : 0; /* the counts change meanwhile */
}

/* Whether another range with pages may wait in the region. One always may. Of ranges with guards, small programs have
 * GUARDED_PAGES with pages, others a part of what they use. */
static bool pages_may_wait(unsigned region, size_t bytes) {
    if (region < SLAB_REGIONS || versioned_stack_is_empty(&regions[region][fresh_age()])) return true;
    if (region < GUARDED_REGIONS) return false;
    size_t most = bytes_of_objects() / GUARDED_PAGES_PART;
    return atomic_load_explicit(&guarded_bytes, memory_order_relaxed) + bytes <=
           (most < GUARDED_PAGES ? GUARDED_PAGES : most);
}

/* Places a slab that has pages. It keeps them, unless too many wait. */
static void place_range(unsigned region, granule_id range) {
    bool given = (!pages_may_wait(region, bytes_of(range)) || too_much_waits()) && empty_range(region, range);
    if (given) thrift_count_sync_reclaim();
    region_push(region, given ? WITHOUT_PAGES : fresh_age(), range);
    uint32_t places = atomic_fetch_add_explicit(&region_places, 1, memory_order_relaxed);
    if (places % REGION_ROUND_FROM != REGION_ROUND_FROM - 1) return;
    thrift_wake();
    thrift_take_turn();
}

void region_place(unsigned region, granule_id range, uint32_t weight) {
    atomic_store_explicit(&region_weights[region], weight, memory_order_relaxed);
    note_guard(range, weight, false);
    place_range(region, range);
}

static unsigned region_of_range(uint32_t weight, bool guarded) {
    return (guarded ? GUARDED_REGIONS : SLAB_REGIONS) + class_of_weight(weight);
}

granule_id region_fetch_large(uint32_t weight, bool *zeroed) {
    granule_id range = pop_any(region_of_range(weight, false), zeroed);
    if (range) return range;
    range = pop_any(region_of_range(weight, true), zeroed);
    if (!range || !guard_open(range)) return 0;
    if (!*zeroed && region_waits_open(bytes_of(range)))
        check_zero(granule_address(range), bytes_of(range) - LARGE_GUARD);
    return range;
}

granule_id region_fetch_guarded(uint32_t weight, bool *empty) {
    const unsigned region = region_of_range(weight, true);
    granule_id range = pop_any(region, empty);
    if (!range || (!*empty && region_waits_open(bytes_of(range)))) return range;
    if (platform_protect(granule_address(range), bytes_of(range) - LARGE_GUARD, true)) return range;
    region_push(region, *empty ? WITHOUT_PAGES : fresh_age(), range);
    return 0;
}

/* Whether a range may wait for its class: it shares no page, and not too many addresses wait. */
static bool may_wait(void) {
    return platform_page_size() <= GRANULE_SIZE && atomic_load_explicit(&unused_bytes[true], memory_order_relaxed) <
                                                       atomic_load_explicit(&most_addresses, memory_order_relaxed);
}

void region_place_large(granule_id range, bool guarded, bool empty) {
    const unsigned region = region_of_range(knit_weight(range), guarded);
    if (!may_wait()) guarded_place(range, weight_without_guard(region, range), empty ? UNMAPPED : MAPPED);
    else if (empty) region_push(region, WITHOUT_PAGES, range);
    else place_range(region, range);
}
