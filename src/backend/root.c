/* root.c - making and destroying roots, the spare ones, and the walkers that keep roots mapped. */
#include "backend/root.h"

#include "backend/knit.h"
#include "backend/thrift_counters.h"
#include "base/near.h"
#include "base/published.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/assert.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"
#include "sync/cell.h"

static _Atomic(size_t) root_total, sealed_total;
PUBLISHED(root_total);

/* | 31..16 roots being given back | 15..0 walkers |. A root is given back only while there is no walker, and a walk
 * begins only while no root is given back. Both enter by a read-modify-write, so the later one sees the earlier. */
static _Atomic(uint32_t) root_walkers;
#define ONE_ROOT_GOING 0x10000u
#define WALKER_MASK 0xffffu
#define ROOTS_GOING_MAX 0xffffu

static struct cell spare_roots[JW_SPARE_ROOTS]; /* each a spare root */
PUBLISHED(spare_roots);
static size_t spares_most = JW_SPARE_ROOTS; /* fewer where the address space or the data is limited */
/* Booleans, but not bytes, which RISC-V cannot exchange. making_spares: stays set where memory is locked, or was
 * refused. root_made: a root was made since the last round. */
static _Atomic(uint32_t) making_spares, root_made;

static void unmap_spare(granule_id root) {
    char *address = granule_address(root);
    page_map_disown(address);
    unmap_or_defer(address, ROOT_SIZE);
    page_map_unclaim(address);
}

/* In one of the first `among` entries. False: none is free. */
static NOINLINE wide_bool put_spare(granule_id root, size_t among) {
    for (struct cell *place = spare_roots + among; place > spare_roots;)
        if (cell_put(--place, root)) return true; /* publishes the slot's claim, and the root's words */
    return false;
}

static void place_spare(granule_id root) {
    if (!put_spare(root, JW_SPARE_ROOTS)) unmap_spare(root);
}

static granule_id take_spare_at(struct cell *place) {
    return cell_look(place) ? cell_take(place) : 0;
}

static granule_id take_spare(void) {
    granule_id root = 0;
    for (struct cell *place = spare_roots; place < spare_roots + JW_SPARE_ROOTS && !root;)
        root = take_spare_at(place++);
    return root;
}

static struct cell closed_parts[CLOSED_PARTS]; /* a held range without addresses */
PUBLISHED(closed_parts);

/* Each part has an entry of its own, to which a thread may put it back. */
static _Atomic(uint32_t) parts_used;

wide_bool root_has_lost_parts(void) {
    return NEAR_LOAD(parts_used) > FIRST_CLOSED_PARTS;
}

bool root_close_part(granule_id part) {
    uint32_t index = atomic_load_explicit(&parts_used, memory_order_relaxed);
    do
        if (index == CLOSED_PARTS) return false;
    while (!atomic_compare_exchange_weak_explicit(&parts_used, &index, index + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
    if (!platform_unmap(granule_address(part), knit_weight(part) * GRANULE_SIZE)) return false;
    cell_fill(&closed_parts[index], part); /* publishes the range's words, and that it is unmapped */
    return true;
}

/* The last closed ones first: of the first root's parts the smallest. If the OS refuses one, it would refuse all. */
granule_id root_open_part(enum root_use use, uint32_t weight) {
    enum platform_reserved result = RESERVE_TAKEN;
    for (unsigned i = NEAR_LOAD(parts_used); result == RESERVE_TAKEN && i-- > 0;) {
        granule_id part = cell_look(&closed_parts[i]) ? cell_take(&closed_parts[i]) : 0;
        if (!part) continue;
        uint32_t found = knit_weight(part);
        size_t size = found * GRANULE_SIZE;
        bool fits = found >= weight && (root_use(part) == use || (!CLASSES_APART && root_count() <= 1));
        if (fits) result = platform_reserve_at(granule_address(part), size, true, "jwmalloc: ranges");
        if (result == RESERVED) {
            platform_huge_pages(granule_address(part), size, option(&options.huge_pages));
            return part;
        }
        cell_fill(&closed_parts[i], part);
    }
    return 0;
}

/* How many spare roots there may be: a share of the existing roots, because mlockall gives pages to spare roots and
 * limits count them. Fewer where the address space or the data is limited. */
static size_t spares_wanted(void) {
    size_t wanted = root_count() * JW_SPARE_QUARTERS / 4, most = NEAR_READ(spares_most);
    return wanted < most ? wanted : most;
}

/* Maps one root, and spare roots behind it as far as their slots are free. */
static granule_id map_roots(size_t count) {
    char *address = page_map_reserve(&count);
    if (!address) return 0;
    granule_id root = granule_of(address);
    for (char *next = address; --count > 0;) {
        next += ROOT_SIZE;
        if (page_map_claim(next)) place_spare(granule_of(next));
        else unmap_or_defer(next, ROOT_SIZE);
    }
    return root;
}

static granule_id new_root(void) {
    granule_id root = take_spare();
    if (root) return root;
    size_t more = spares_wanted();
    /* one thread makes spares; the others map only what they need, or there would be too many spares */
    if (more > 0 && !atomic_exchange_explicit(&making_spares, true, memory_order_relaxed)) {
        root = map_roots(1 + more);
        /* after mlockall(MCL_FUTURE) spare roots have pages at once; locked memory is known by this refusal. Then this
         * was the last try */
        bool locked = root && !platform_discard(granule_address(root), GRANULE_SIZE);
        if (locked) root_unmap_spares();
        atomic_store_explicit(&making_spares, locked, memory_order_relaxed);
    }
    return root ? root : map_roots(1);
}

/* Bytes of the tables that a root of this word uses. */
static intptr_t tables_of(uint32_t word) {
    return (intptr_t)(ROOT_GRANULES * (WORDS_SIZE + (word & HAS_SLABS) * (RECORD_SIZE / HAS_SLABS)));
}

granule_id root_create(enum root_use use) {
    granule_id root = new_root();
    if (!root) return 0;
    knit_make_root(root);
    atomic_store_explicit(root_word_at(root), use, memory_order_relaxed);
    leaf_set(root, leaf_held());
    atomic_fetch_add_explicit(&root_total, 1, memory_order_relaxed);
    other_bytes_add(tables_of(0));
    atomic_store_explicit(&root_made, true, memory_order_relaxed);
    return root;
}

bool root_admits_slabs(granule_id range) {
    granule_id root = root_of(range);
    /* [MG1] acquire: the records' mask; pairs [MG2]; client page_map_admits */
    if (LIKELY(atomic_load_explicit(root_word_at(root), memory_order_acquire) & HAS_SLABS)) return true;
    if (!page_map_admit_slabs(root)) return false;
    /* [MG2] release: the records' mask, which covers the root; pairs [MG1]; client page_map_admits. A thread that has
     * not seen the bit makes the call again */
    uint32_t before = atomic_fetch_or_explicit(root_word_at(root), HAS_SLABS, memory_order_release);
    if (!(before & HAS_SLABS)) other_bytes_add(tables_of(HAS_SLABS) - tables_of(0));
    return true;
}

/* Sealed roots have slots, too. */
static size_t slots_in_use(void) {
    return root_count() + (JW_SEAL ? NEAR_LOAD(sealed_total) : 0);
}

bool root_may_serve_large(void) {
    return JW_WINDOW_SHIFT < LARGE_WINDOW_SHIFT || slots_in_use() < page_map_slots() / LARGE_WINDOW_PART;
}

bool root_window_is_full(void) {
    return slots_in_use() + 1 >= page_map_slots(); /* slot 0 has no root */
}

void root_end_spares(void) {
    atomic_store_explicit(&making_spares, true, memory_order_relaxed);
}

wide_bool root_unmap_spares(void) {
    bool any = false;
    for (struct cell *place = spare_roots; place < spare_roots + JW_SPARE_ROOTS; place++) {
        granule_id root = take_spare_at(place);
        if (!root) continue;
        /* if the OS refuses, the next thread that needs a root finds this one, and maps none */
        if (page_map_give_back(granule_address(root))) any = true;
        else place_spare(root);
    }
    return any;
}

wide_bool root_round(bool now) {
    bool made = atomic_exchange_explicit(&root_made, false, memory_order_relaxed);
    if (made && !now) return root_spares() > 0;
    root_unmap_spares();
    return false;
}

size_t root_spares(void) {
    size_t count = 0;
    for (unsigned i = 0; i < JW_SPARE_ROOTS; i++) count += cell_look(&spare_roots[i]) != 0;
    return count;
}

/* Where roots are made all the time, one that goes is kept as a spare one, with its tables' pages: else each new root
 * would cost a mapping, and faults in the tables. Records of slabs are too many pages for that. */
static wide_bool keeps_as_spare(granule_id root, uint32_t word) {
    return !(word & HAS_SLABS) && NEAR_LOAD(root_made) && !NEAR_LOAD(making_spares) && put_spare(root, spares_wanted());
}

wide_bool root_destroy(granule_id root, wide_bool zero) {
    /* [WK1] acquire: the walkers' reads of the memory; pairs [WK4]; client root_walker */
    uint32_t before = atomic_fetch_add_explicit(&root_walkers, ONE_ROOT_GOING, memory_order_acquire);
    invariant(before < ONE_ROOT_GOING * ROOTS_GOING_MAX);
    uint32_t word = atomic_load_explicit(root_word_at(root), memory_order_relaxed);
    leaf_set(root, leaf_none());
    wide_bool gone = (before & WALKER_MASK) == 0 &&
                     ((zero && keeps_as_spare(root, word)) || page_map_give_back(granule_address(root)));
    if (gone) {
        other_bytes_add(-tables_of(word));
        atomic_fetch_sub_explicit(&root_total, 1, memory_order_relaxed);
    } else {
        leaf_set(root, leaf_held());
    }
    /* [WK2] release: the root is gone from the page map; pairs [WK3]; client root_walker */
    before = atomic_fetch_sub_explicit(&root_walkers, ONE_ROOT_GOING, memory_order_release);
    invariant(before >= ONE_ROOT_GOING);
    return gone;
}

size_t root_count(void) {
    return NEAR_LOAD(root_total);
}

bool root_walk_begin(void) {
    /* [WK3] acquire: the roots that are gone; pairs [WK2]; client root_walker */
    uint32_t before = atomic_fetch_add_explicit(&root_walkers, 1, memory_order_acquire);
    invariant((before & WALKER_MASK) < WALKER_MASK);
    if (before < ONE_ROOT_GOING) return true;
    root_walk_end();
    return false;
}

void root_walk_end(void) {
    /* [WK4] release: this walker's reads are over before a root is unmapped; pairs [WK1]; client root_walker */
    uint32_t before = atomic_fetch_sub_explicit(&root_walkers, 1, memory_order_release);
    invariant((before & WALKER_MASK) > 0);
}

wide_bool root_walk_begin_or_wait(void) {
    for (unsigned tries = 0; tries < WALK_TRIES; tries++) {
        if (root_walk_begin()) return true;
        platform_sleep(WALK_WAIT);
    }
    return false;
}

void root_start(void) {
    size_t most = platform_address_limit() / ROOT_SIZE >> JW_SPARE_SHIFT;
    if (most < JW_SPARE_ROOTS) spares_most = most;
}

void root_forget_sealed(void) {
    for (unsigned i = atomic_load_explicit(&parts_used, memory_order_relaxed); i-- > 0;) cell_take(&closed_parts[i]);
    atomic_store_explicit(&parts_used, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&sealed_total, root_count(), memory_order_relaxed);
    atomic_store_explicit(&root_total, 0, memory_order_relaxed);
}

static _Atomic(uint32_t) fork_count; /* written in the child of a fork, which has one thread: relaxed */

uint32_t root_forks(void) {
    return NEAR_LOAD(fork_count);
}

void root_forget_threads(void) {
    atomic_store_explicit(&fork_count, root_forks() + 1, memory_order_relaxed);
    atomic_store_explicit(&root_walkers, 0, memory_order_relaxed);
    atomic_store_explicit(&making_spares, false, memory_order_relaxed);
}
