/* page_map_slots.c - the slots of the window: which root has which, and the reserving of roots for free ones. */
#include "backend/page_map.h"
#include "backend/page_map_tables.h"
#include "base/published.h"
#include "config/options.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"

static size_t slot_mask(void) {
    return page_map_covered() / ROOT_GRANULES;
}

/* The first slot from `slot` on that does not lie between the parts of the tables. */
static size_t covered_from(size_t slot, size_t mask) {
    return slot >= page_map_low(mask) && slot < page_map_far(mask) ? page_map_far(mask) : slot;
}

/* Bit i: in the i-th part of the window a slot was ever claimed. Walks leave the other parts out. */
static _Atomic(uint32_t) claimed_parts;
PUBLISHED(claimed_parts);
enum { SLOTS_SHIFT = JW_WINDOW_SHIFT - JW_ROOT_SHIFT, PART_SHIFT = SLOTS_SHIFT > 5 ? SLOTS_SHIFT - 5 : 0 };

static uint32_t bit_of_part(size_t slot) {
    return 1u << (slot >> PART_SHIFT);
}

wide_bool page_map_claim(char *address) {
    granule_id id = granule_of(address);
    uintptr_t expected = slot_word(address);
    /* [MP1] acquire: the last owner no longer uses the slot's records; pairs [MP2]; client root_back */
    if (id == 0 || !slot_is_unclaimed(expected) ||
        !atomic_compare_exchange_strong_explicit(&NEAR_READ(page_map.slot_owner)[id / ROOT_GRANULES], &expected,
                                                 (uintptr_t)address, memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_fetch_or_explicit(&claimed_parts, bit_of_part(id / ROOT_GRANULES), memory_order_relaxed);
    return true;
}

/* Moves *slot to the next claimed slot whose root is sealed, or not. */
static wide_bool next_claimed(size_t *slot, bool sealed) {
    uint32_t parts = NEAR_LOAD(claimed_parts);
    /* a slot that is claimed meanwhile, or that a newer mask covers, is found by walks that begin after that */
    for (size_t mask = slot_mask(); (*slot = covered_from(*slot, mask)) <= mask; ++*slot) {
        uintptr_t word = 0;
        if (!(parts & bit_of_part(*slot))) *slot |= (1u << PART_SHIFT) - 1;
        else word = atomic_load_explicit(&NEAR_READ(page_map.slot_owner)[*slot], memory_order_relaxed);
        if (slot_is_claimed(word) && slot_is_sealed(word) == sealed) return true;
    }
    return false;
}

/* A hint: slots below are probably not free. */
static _Atomic(size_t) lowest_free;

static wide_bool slot_is_free(size_t slot) {
    return (wide_bool)slot_is_unclaimed(
        atomic_load_explicit(&NEAR_READ(page_map.slot_owner)[slot], memory_order_relaxed));
}

/* Maps up to *count free slots from `slot` on, at least `slot` itself, and claims `slot`. */
static enum platform_reserved take_slots(size_t slot, size_t *count) {
    char *address = page_map.base + (slot << JW_ROOT_SHIFT);
    size_t low = page_map_low(slot_mask()), inside = slot & (low - 1), most = *count;
    for (*count = 1; *count < most && inside + *count < low && slot_is_free(slot + *count);) ++*count;
    enum platform_reserved result;
    while ((result = platform_reserve_at(address, *count << JW_ROOT_SHIFT, true, "jwmalloc: ranges")) != RESERVED &&
           *count > 1)
        *count = 1;
    if (result != RESERVED || page_map_claim(address)) return result;
    unmap_or_defer(address, *count << JW_ROOT_SHIFT); /* a thread has unmapped a root here and not freed its slot yet */
    return RESERVE_TAKEN;
}

/* Chooses the first root's slot among the upper half: each is equally probable. Slot 0 and the last one are left out:
 * many wild pointers have these places (0, -1), and free can report them if no slab shares the place. */
static size_t random_slot(size_t mask) {
    size_t far = page_map_far(mask), half = far ? page_map_low(mask) : page_map_low(mask) / 2;
    size_t places = half > 1 ? half - 1 : 1;                             /* 1: in a model */
    return (far ? far : half) + (platform_random_place() >> 1) % places; /* the random number is odd */
}

/* Reserves the lowest free slots; doubles the tables when there are none. */
static char *reserve_low(size_t *count) {
    size_t most = *count, from = NEAR_LOAD(lowest_free);
    if (from == 0) from = random_slot(slot_mask());
    for (size_t mask;;) {
        mask = page_map_covered();
        const size_t slots = mask / ROOT_GRANULES;
        for (size_t slot = covered_from(from, slots); slot <= slots; slot = covered_from(slot + 1, slots)) {
            if (!slot_is_free(slot)) continue;
            *count = most;
            enum platform_reserved result = take_slots(slot, count);
            if (result == RESERVE_REFUSED) return NULL;
            if (result == RESERVE_TAKEN) continue;
            atomic_store_explicit(&lowest_free, slot + 1, memory_order_relaxed);
            return page_map.base + (slot << JW_ROOT_SHIFT);
        }
        if (from > 1) from = 1;
        else if (page_map_grow(mask)) from = page_map_low(slots);
        else return NULL;
    }
}

/* Finds a part of `size` bytes whose slot is free in an area that is larger by `room`, and unmaps the rest. */
static char *claim_inside(char *area, size_t size, size_t room) {
    for (size_t before = 0; before <= room; before += ROOT_SIZE) {
        if (!page_map_claim(area + before)) continue;
        unmap_or_defer(area, before);
        unmap_or_defer(area + before + size, room - before);
        return area + before;
    }
    return NULL;
}

/* Reserves `size` bytes where the kernel chooses. While the slots of these addresses are taken, searches larger and
 * larger areas, up to the whole window. */
static char *reserve_anywhere(size_t size) {
    const size_t window = (size_t)mask_get(&page_map.mask) << JW_GRANULE_SHIFT;
    for (size_t room = 0; room <= PTRDIFF_MAX - size; room = room < window / 8 ? room * 4 + ROOT_SIZE : window) {
        char *area = platform_reserve(size + room, ROOT_SIZE, "jwmalloc: ranges");
        if (!area) return NULL;
        char *address = claim_inside(area, size, room);
        if (address) return address;
        unmap_or_defer(area, size + room);
        if (room == window) return NULL;
    }
    return NULL;
}

char *page_map_reserve(size_t *count) {
    unmap_deferred();
    char *address = page_map.base ? reserve_low(count) : reserve_anywhere(*count << JW_ROOT_SHIFT);
    /* huge pages only if wanted: with THP=always a fault or khugepaged would fill memory that was given back */
    if (address) platform_huge_pages(address, *count << JW_ROOT_SHIFT, option(&options.huge_pages));
    return address;
}

void page_map_unclaim(char *root) {
    granule_id id = granule_of(root);
    page_map_discard(id);
    /* [MP2] release: this owner's last use of the slot's records; pairs [MP1]; client root_back */
    atomic_store_explicit(&NEAR_READ(page_map.slot_owner)[id / ROOT_GRANULES], slot_gone(root), memory_order_release);
    if (id / ROOT_GRANULES < NEAR_LOAD(lowest_free))
        atomic_store_explicit(&lowest_free, id / ROOT_GRANULES, memory_order_relaxed);
}

static NOINLINE void set_slot(char *root, uintptr_t word) {
    atomic_store_explicit(&NEAR_READ(page_map.slot_owner)[granule_of(root) / ROOT_GRANULES], word,
                          memory_order_relaxed);
}

void page_map_disown(char *root) {
    /* relaxed: the kernel puts the unmapping that follows before a mapping at this address */
    set_slot(root, slot_disowned(root));
}

wide_bool page_map_give_back(char *root) {
    page_map_disown(root);
    wide_bool gone = platform_unmap(root, ROOT_SIZE);
    if (gone) page_map_unclaim(root);
    else set_slot(root, (uintptr_t)root);
    return gone;
}

granule_id page_map_next(uint32_t *slot, bool sealed) {
    size_t next = *slot;
    if (!next_claimed(&next, sealed)) return 0;
    *slot = (uint32_t)next + 1;
    return (granule_id)(next * ROOT_GRANULES);
}

void page_map_walk(void (*visit)(granule_id id, void *context), void *context) {
    for (size_t slot = 0; next_claimed(&slot, false); slot++) visit((granule_id)(slot * ROOT_GRANULES), context);
}

void page_map_seal(granule_id root) {
    char *address = granule_address(root);
    set_slot(address, slot_sealed(address));
}
