/* page_map.c - the tables of the page map: making and growing them, and claiming slots of the window. */
#include "backend/page_map.h"

#include "base/assert.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/fence.h"

/* Before page_map_start: words that mean "not ours" for every address. */
static record_word nothing[1];
static _Alignas(RECORD_SIZE) char no_record[RECORD_SIZE];
static _Atomic(uintptr_t) no_roots[1];

struct page_map page_map = {
    .mask = 0, .records = no_record, .leaf = nothing, .node = nothing, .link = nothing, .slot_owner = no_roots};

/* Bytes for one granule: in the tables of words, and in all tables but the slot owners'. */
enum { WORDS_SIZE = 3 * sizeof(record_word), TABLES_SIZE = RECORD_SIZE + WORDS_SIZE };

static void set_masks(size_t mask) {
#if JW_FIRST_WINDOW_SHIFT == JW_WINDOW_SHIFT
    page_map.mask = mask;
    page_map.record_mask = mask << RECORD_SHIFT;
#else
    /* relaxed: no thread has a root yet */
    atomic_store_explicit(&page_map.record_mask, mask << RECORD_SHIFT, memory_order_relaxed);
    atomic_store_explicit(&page_map.mask, mask, memory_order_relaxed);
#endif
}

/* What a mask covers, in granules or in slots:  [0, low) and, if `far` is not 0, [far, far + low). Both are powers of
 * two. So the first root has `far` in its address or not, and a growing table has a part at each of both places. */
static size_t low_part(size_t mask) {
    return (mask + 1) & ~mask;
}

static size_t far_part(size_t mask) {
    return mask & ~(low_part(mask) - 1);
}

/* Tables that double in place. Each has room for the whole window. That room is not reserved: it lies where the kernel
 * maps nothing by itself.
 *
 *   region   records | leaf | node | link | roots |  ...  | base: slot 0 (never used), 1, 2 ...
 *
 *   base     a multiple of the whole window. So an id, the low bits of the granule's number, is the same under any mask
 *            that covers the slot. Roots take the lowest free slots
 *   mask     at first half of the first window, [0, low), and a bit at random: the other half is [far, far + low).
 *            A doubling adds the lowest bit that is missing, so both parts double, until they meet
 * A thread that finds no free slot maps the second halves and moves the masks itself. So growing is lock-free. Several
 * threads may try: the kernel gives each part to one of them. Each thread announces its try before, so the others know
 * that the mapping they find is that part.
 *
 *   announced   for each part: threads that have tried to map it, without those that the kernel refused and those that
 *               found a foreign mapping there. More than 1: the mapping that a thread finds is ours
 *   masks       by compare-exchange from the old to the new value, the records' mask first. [MG1]: a thread that sees a
 *               slot in the other mask finds its records
 */
enum { RECORDS, LEAF, NODE, LINK, OWNERS, TABLES };
#define WINDOW_MOST ((size_t)1 << (JW_WINDOW_SHIFT < sizeof(size_t) * 8 ? JW_WINDOW_SHIFT : 31)) /* 32 bits: unused */
#define TABLE_ROOM (WINDOW_MOST >> JW_GRANULE_SHIFT << RECORD_SHIFT)                             /* of the largest */
#define TABLES_ROOM ((TABLES * TABLE_ROOM / WINDOW_MOST + 1) * WINDOW_MOST)
enum {
    FIRST_LOW_SHIFT = JW_FIRST_WINDOW_SHIFT - 1 - JW_GRANULE_SHIFT,
    FAR_BITS =
        JW_WINDOW_SHIFT - JW_FIRST_WINDOW_SHIFT + 1, /* places of the second half, and doublings of the low part */
    PARTS = 2
};

static char *table_start[TABLES];

/* Place of a granule's entry in its table, from the next page on: the page of what is before has the rest. */
static size_t offset_of(unsigned table, size_t granule) {
    static const size_t unit[TABLES] = {RECORD_SIZE, sizeof(record_word), sizeof(record_word), sizeof(record_word), 0};
    size_t page = platform_page_size();
    size_t offset = table == OWNERS ? granule / ROOT_GRANULES * sizeof(uintptr_t) : granule * unit[table];
    return (offset + page - 1) & ~(page - 1);
}

/* A table's pages for granules [from, to). None: the page of other granules has the entries. */
struct table_part {
    char *start;
    size_t size;
};

static struct table_part table_part(unsigned table, size_t from, size_t to) {
    size_t start = offset_of(table, from);
    return (struct table_part){table_start[table] + start, offset_of(table, to) - start};
}

/* Records are read-only until their root has slabs: read-only memory is charged only as address space. */
static enum platform_place map_part(unsigned table, struct table_part part) {
    if (part.size == 0) return PLACE_HAD;
    return platform_reserve_at(part.start, part.size, table != RECORDS, "jwmalloc: records");
}

static void huge_pages_off(struct table_part part) {
    if (part.size != 0) platform_huge_pages(part.start, part.size, false);
}

static struct table_part first_part(unsigned number, size_t mask) {
    size_t low = low_part(mask), from = number % PARTS ? far_part(mask) : 0;
    return table_part(number / PARTS, from, number % PARTS && !from ? 0 : from + low);
}

static bool map_first_parts(size_t mask) {
    for (unsigned number = 0; number < TABLES * PARTS; number++) {
        struct table_part part = first_part(number, mask);
        if (map_part(number / PARTS, part) == PLACE_HAD) {
            huge_pages_off(part);
            continue;
        }
        while (number-- > 0) unmap_or_defer(first_part(number, mask).start, first_part(number, mask).size);
        return false;
    }
    set_masks(mask);
    return true;
}

/* The tables lie at a random place in the part of the region that is below the roots. */
static bool make_growing_tables(void) {
    uintptr_t region = platform_region(TABLES_ROOM + WINDOW_MOST, WINDOW_MOST), page = platform_page_size();
    if (region == 0) return false;
    uintptr_t spread = TABLES_ROOM - TABLES * TABLE_ROOM;
    uintptr_t start = region + ((uintptr_t)platform_random() % spread & ~(page - 1));
    for (unsigned table = 0; table < TABLES; table++)
        table_start[table] = (char *)(start + table * TABLE_ROOM); // NOLINT(performance-no-int-to-ptr)
    size_t low = (size_t)1 << FIRST_LOW_SHIFT, far = low << platform_random() % FAR_BITS;
    if (!map_first_parts((low - 1) | far)) return false;
    page_map.records = table_start[RECORDS];
    page_map.leaf = (record_word *)table_start[LEAF];
    page_map.node = (record_word *)table_start[NODE];
    page_map.link = (record_word *)table_start[LINK];
    page_map.slot_owner = (_Atomic(uintptr_t) *)table_start[OWNERS];
    page_map.base = (char *)(region + TABLES_ROOM); // NOLINT(performance-no-int-to-ptr)
    return true;
}

#if JW_FIRST_WINDOW_SHIFT == JW_WINDOW_SHIFT

static size_t mask_now(void) {
    return page_map.mask;
}

static bool grow(size_t mask) {
    (void)mask;
    return false;
}

#else

/* The granules that the tables cover, for a thread that will use them. */
static size_t mask_now(void) {
    /* [MG2] acquire: the records' mask; pairs [MG1]; client page_map_grows */
    return atomic_load_explicit(&page_map.mask, memory_order_acquire);
}

static _Atomic(uint32_t) announced[FAR_BITS][TABLES][PARTS];

/* The kernel has found a mapping at the place. It is ours if another thread has tried and all of the part is mapped. */
static bool another_has_mapped(const _Atomic(uint32_t) *threads, char *part, size_t size) {
    /* relaxed: the kernel orders that thread's announcement and mapping before our refusal */
    return atomic_load_explicit(threads, memory_order_relaxed) > 1 && platform_is_mapped(part, size);
}

/* Maps what follows one of the table's parts, as long as the part is, unless it is there. False when the OS refuses. */
static bool extend(unsigned table, size_t low, size_t far) {
    struct table_part part = table_part(table, far + low, far + 2 * low);
    if (part.size == 0) return true;
    _Atomic(uint32_t) *threads = &announced[__builtin_ctzl(low) - FIRST_LOW_SHIFT][table][far != 0];
    atomic_fetch_add_explicit(threads, 1, memory_order_relaxed); /* as in another_has_mapped */
    enum platform_place place = map_part(table, part);
    if (place == PLACE_REFUSED || (place == PLACE_TAKEN && !another_has_mapped(threads, part.start, part.size))) {
        atomic_fetch_sub_explicit(threads, 1, memory_order_relaxed);
        return false;
    }
    huge_pages_off(part); /* again: the other thread may be stopped before its call */
    return true;
}

static void move_mask(mask_word *mask, uintptr_t from, uintptr_t to) {
    /* [MG1] release: the records' mask, before the other; pairs [MG2]; client page_map_grows */
    atomic_compare_exchange_strong_explicit(mask, &from, to, memory_order_release, memory_order_relaxed);
}

/* Doubles the tables if they still have the mask. False when the OS refuses, or the tables are complete. */
static bool grow(size_t mask) {
    size_t low = low_part(mask), far = far_part(mask), next = mask | low;
    if (low >= WINDOW_MOST >> JW_GRANULE_SHIFT) return false;
    for (unsigned table = 0; table < TABLES; table++)
        if (!extend(table, low, 0) || (far && !extend(table, low, far))) return mask_now() != mask;
    move_mask(&page_map.record_mask, mask << RECORD_SHIFT, next << RECORD_SHIFT);
    move_mask(&page_map.mask, mask, next);
    return true;
}

#endif

/* Without growing tables, all are made at once, as large as the limit of the address space allows. */
static unsigned fixed_window_shift(void) {
    size_t limit = platform_address_limit();
    unsigned shift = JW_WINDOW_SHIFT;
    while (shift > JW_ROOT_SHIFT + 4 && (uint64_t)1 << (shift - 1) > limit) shift--;
    return shift;
}

static bool make_tables(unsigned shift) {
    size_t granules = (size_t)1 << (shift - JW_GRANULE_SHIFT), roots = granules / ROOT_GRANULES,
           page = platform_page_size();
    size_t size = granules * WORDS_SIZE + roots * sizeof(uintptr_t);
    size_t records_size = (granules << RECORD_SHIFT) + 2 * page - 1; /* the last page is never written to: a fence */
    records_size &= ~(page - 1);
    size = (size + page - 1) & ~(page - 1);
    char *tables = fenced_reserve(size, "jwmalloc: records"), *records = NULL;
    if (tables) records = platform_reserve_readable(records_size, "jwmalloc: slabs");
    if (!records) {
        if (tables) fenced_release(tables, size);
        return false;
    }
    platform_huge_pages(records, records_size, false);
    platform_huge_pages(tables, size, false);
    page_map.records = records;
    page_map.leaf = (record_word *)tables;
    page_map.node = page_map.leaf + granules;
    page_map.link = page_map.node + granules;
    page_map.slot_owner = (_Atomic(uintptr_t) *)(page_map.link + granules);
    page_map.base = NULL;
    set_masks(granules - 1);
    return true;
}

bool page_map_start(void) {
    for (int tries = 0; JW_FIRST_WINDOW_SHIFT < JW_WINDOW_SHIFT && tries < REGION_TRIES; tries++)
        if (make_growing_tables()) return true;
    for (unsigned shift = fixed_window_shift(); shift > JW_ROOT_SHIFT; shift--)
        if (make_tables(shift)) return true;
    return false;
}

bool page_map_admit_slabs(granule_id root) {
    size_t page = platform_page_size(), from = ((size_t)root << RECORD_SHIFT) & ~(page - 1);
    size_t to = ((root + ROOT_GRANULES) << RECORD_SHIFT) + page - 1;
    return platform_protect(page_map.records + from, (to & ~(page - 1)) - from, true); /* small roots share a page */
}

size_t page_map_slots(void) {
    return page_map.base ? WINDOW_MOST >> JW_ROOT_SHIFT : (mask_get(&page_map.mask) + 1) / ROOT_GRANULES;
}

static size_t slot_mask(void) {
    return mask_now() / ROOT_GRANULES;
}

/* The first slot from `slot` on that does not lie between the parts of the tables. */
static size_t covered_from(size_t slot, size_t mask) {
    return slot >= low_part(mask) && slot < far_part(mask) ? far_part(mask) : slot;
}

/* All slots that were ever claimed are in [first_slot, last_slot): few, and in two parts at most. */
static _Atomic(size_t) first_slot = SIZE_MAX, last_slot;

static void note_slot(size_t slot) {
    size_t first = atomic_load_explicit(&first_slot, memory_order_relaxed),
           last = atomic_load_explicit(&last_slot, memory_order_relaxed);
    while (slot < first && !atomic_compare_exchange_weak_explicit(&first_slot, &first, slot, memory_order_relaxed,
                                                                  memory_order_relaxed))
        ;
    while (slot >= last && !atomic_compare_exchange_weak_explicit(&last_slot, &last, slot + 1, memory_order_relaxed,
                                                                  memory_order_relaxed))
        ;
}

bool page_map_claim(char *address) {
    granule_id id = granule_of(address);
    uintptr_t expected = slot_word(address);
    /* [MP1] acquire: the last owner no longer uses the slot's records; pairs [MP2]; client root_back */
    if (id == 0 || slot_is_claimed(expected) ||
        !atomic_compare_exchange_strong_explicit(&page_map.slot_owner[id / ROOT_GRANULES], &expected,
                                                 (uintptr_t)address, memory_order_acquire, memory_order_relaxed))
        return false;
    note_slot(id / ROOT_GRANULES);
    return true;
}

static bool next_claimed(size_t *slot) {
    size_t from = atomic_load_explicit(&first_slot, memory_order_relaxed);
    if (*slot < from) *slot = from;
    for (size_t mask = slot_mask();; ++*slot) {
        /* a slot that a newer mask covers is found by walks that begin after its claim */
        *slot = covered_from(*slot, mask);
        if (*slot >= atomic_load_explicit(&last_slot, memory_order_relaxed)) return false;
        if (slot_is_claimed(atomic_load_explicit(&page_map.slot_owner[*slot], memory_order_relaxed))) return true;
    }
}

/* A hint: slots below are probably not free. */
static _Atomic(size_t) lowest_free;

static bool slot_is_free(size_t slot) {
    return !slot_is_claimed(atomic_load_explicit(&page_map.slot_owner[slot], memory_order_relaxed));
}

/* Maps up to *count free slots from `slot` on, at least `slot` itself, and claims `slot`. */
static enum platform_place take_slots(size_t slot, size_t *count) {
    char *address = page_map.base + (slot << JW_ROOT_SHIFT);
    size_t low = low_part(slot_mask()), inside = slot & (low - 1), most = *count;
    for (*count = 1; *count < most && inside + *count < low && slot_is_free(slot + *count);) ++*count;
    enum platform_place place = platform_reserve_at(address, *count << JW_ROOT_SHIFT, true, "jwmalloc: ranges");
    if (place != PLACE_HAD && *count > 1) {
        *count = 1;
        place = platform_reserve_at(address, ROOT_SIZE, true, "jwmalloc: ranges");
    }
    if (place != PLACE_HAD || page_map_claim(address)) return place;
    unmap_or_defer(address, *count << JW_ROOT_SHIFT); /* the thread that unmapped the root has not cleared the slot */
    return PLACE_TAKEN;
}

/* Of the first root: any of the upper half. So all its places are equally probable, and it is not slot 0. */
static size_t random_slot(size_t mask) {
    size_t far = far_part(mask), half = far ? low_part(mask) : low_part(mask) / 2;
    return (far ? far : half) + (platform_random_place() >> 1) % half; /* a place's number is odd */
}

/* Reserves the lowest free slots; doubles the tables when there are none. */
static char *reserve_low(size_t *count) {
    size_t most = *count, from = atomic_load_explicit(&lowest_free, memory_order_relaxed);
    if (from == 0) from = random_slot(slot_mask());
    for (size_t mask;;) {
        mask = mask_now();
        const size_t slots = mask / ROOT_GRANULES;
        for (size_t slot = covered_from(from, slots); slot <= slots; slot = covered_from(slot + 1, slots)) {
            if (!slot_is_free(slot)) continue;
            *count = most;
            enum platform_place place = take_slots(slot, count);
            if (place == PLACE_REFUSED) return NULL;
            if (place == PLACE_TAKEN) continue;
            atomic_store_explicit(&lowest_free, slot + 1, memory_order_relaxed);
            return page_map.base + (slot << JW_ROOT_SHIFT);
        }
        if (from > 1) from = 1;
        else if (grow(mask)) from = low_part(slots);
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

/* For addresses that the kernel chooses. While no slot is free for them, larger and larger areas are searched, up to
 * the whole window. */
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

void page_map_give_up(char *root) {
    granule_id id = granule_of(root);
    platform_discard(record_at(id), ROOT_GRANULES * RECORD_SIZE);
    platform_discard(&page_map.leaf[id], ROOT_GRANULES * sizeof(record_word));
    platform_discard(&page_map.node[id], ROOT_GRANULES * sizeof(record_word));
    platform_discard(&page_map.link[id], ROOT_GRANULES * sizeof(record_word));
    atomic_store_explicit(&page_map.slot_owner[id / ROOT_GRANULES], (uintptr_t)root | SLOT_GONE,
                          memory_order_release); /* [MP2] pairs [MP1]; client root_back */
    if (id / ROOT_GRANULES < atomic_load_explicit(&lowest_free, memory_order_relaxed))
        atomic_store_explicit(&lowest_free, id / ROOT_GRANULES, memory_order_relaxed);
}

void page_map_leave(char *root) {
    /* relaxed: the kernel puts the unmapping that follows before a mapping at this address */
    atomic_store_explicit(&page_map.slot_owner[granule_of(root) / ROOT_GRANULES], (uintptr_t)root | SLOT_LEAVING,
                          memory_order_relaxed);
}

bool page_map_release(char *root) {
    page_map_leave(root);
    if (!platform_release(root, ROOT_SIZE)) {
        atomic_store_explicit(&page_map.slot_owner[granule_of(root) / ROOT_GRANULES], (uintptr_t)root,
                              memory_order_relaxed);
        return false;
    }
    page_map_give_up(root);
    return true;
}

size_t page_map_metadata(size_t untouched) {
    size_t claimed = 0;
    for (size_t slot = 0; next_claimed(&slot); slot++) claimed++;
    if (untouched > claimed) untouched = claimed;
    return (claimed - untouched) * ((size_t)ROOT_GRANULES * TABLES_SIZE + sizeof(uintptr_t));
}

void page_map_walk(void (*visit)(granule_id id, void *context), void *context) {
    for (size_t slot = 0; next_claimed(&slot); slot++) visit((granule_id)(slot * ROOT_GRANULES), context);
}
