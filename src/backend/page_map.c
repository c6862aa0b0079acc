/* page_map.c - the tables of the page map: making them, growing them, and their masks. */
#include "backend/page_map.h"

#include "backend/page_map_tables.h"
#include "base/align.h"
#include "base/published.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/fence.h"

/* Before page_map_start: words that mean "not ours" for every address. */
static table_word nothing[1];
static _Alignas(RECORD_SIZE) char no_record[RECORD_SIZE];
static _Atomic(uintptr_t) no_roots[1];

struct page_map page_map = {
    .mask = 0, .records = no_record, .leaf = nothing, .node = nothing, .link = nothing, .slot_owner = no_roots};
PUBLISHED(page_map);

char *granule_address(granule_id id) {
    return granule_address_fast(id);
}

granule_id granule_start(granule_id id) {
    return leaf_start(id, leaf_get(id));
}

wide_bool page_map_owns(const void *address) {
    return page_map_owns_fast(address);
}

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

/* Tables that double in place. Each has room for the whole window. That room is not reserved: it lies where the kernel
 * maps nothing by itself.
 *
 *   region   records | leaf | node | link | slot owners |  ...  | base: slot 0 (never used), 1, 2 ...
 *
 *   base     a multiple of the whole window. So an id, the low bits of the granule's number, is the same under any mask
 *            that covers the slot. Roots take the lowest free slots
 *   mask     at first half of the first window, [0, low), and a bit at random: the other half is [far, far + low).
 *            A doubling adds the lowest bit that is missing, so both parts double, until they meet
 * A thread that finds no free slot maps the second halves and moves the masks itself. So growing is lock-free. Several
 * threads may try: the kernel gives each part to one of them. Each thread announces its try first. So a thread that
 * finds a mapping there can tell whether it is the part of another thread.
 *
 *   announced   for each part: threads that have tried to map it, without those that the kernel refused and those that
 *               found a foreign mapping there. More than 1: the mapping that a thread finds is ours
 *   masks       by compare-exchange from the old to the new value. Records have a mask of their own, which lags behind:
 *               it grows when a root that it does not cover admits slabs, or the other tables cover RECORDS_LAG. Until
 *               then an address there leads to another granule's record, as a foreign address does
 */
enum { RECORDS, LEAF, NODE, LINK, OWNERS, TABLES };
#define WINDOW_MOST ((size_t)1 << (JW_WINDOW_SHIFT < sizeof(size_t) * 8 ? JW_WINDOW_SHIFT : 31)) /* 32 bits: unused */
#define TABLE_ROOM (WINDOW_MOST >> JW_GRANULE_SHIFT << RECORD_SHIFT)                             /* of the largest */
#define TABLES_ROOM ((TABLES * TABLE_ROOM / WINDOW_MOST + 1) * WINDOW_MOST)
enum {
    FIRST_LOW_SHIFT = JW_FIRST_WINDOW_SHIFT - 1 - JW_GRANULE_SHIFT,
    /* places of the second half, and doublings of the low part */
    FAR_BITS = JW_WINDOW_SHIFT - JW_FIRST_WINDOW_SHIFT + 1,
    PARTS = 2
};

static char *first_table; /* the others lie behind it, in equal distances */

/* Offset of a granule's entry in its table, rounded up to a page. The entries up to there lie in the page before. */
static size_t offset_of(unsigned table, size_t granule) {
    static const size_t unit[TABLES] = {RECORD_SIZE, sizeof(table_word), sizeof(table_word), sizeof(table_word), 0};
    size_t offset = table == OWNERS ? granule / ROOT_GRANULES * sizeof(uintptr_t) : granule * unit[table];
    return align_up(offset, platform_page_size());
}

/* Pages of a table. Size 0: a page of other granules has the entries. */
struct table_part {
    char *start;
    size_t size;
};

/* Part of a table below the mask; or `next`, the part that doubles it. `number`: of both parts of all tables. */
static struct table_part part_of(unsigned number, size_t mask, bool next) {
    size_t low = page_map_low(mask), from = 0;
    if (number % PARTS && (from = page_map_far(mask)) == 0) low = 0;
    if (next) from += low;
    size_t start = offset_of(number / PARTS, from);
    return (struct table_part){first_table + number / PARTS * TABLE_ROOM + start,
                               offset_of(number / PARTS, from + low) - start};
}

/* Records are read-only until their root has slabs: read-only memory is charged only as address space. */
static enum platform_reserved map_part(unsigned table, struct table_part part) {
    if (part.size == 0) return RESERVED;
    return platform_reserve_at(part.start, part.size, table != RECORDS, "jwmalloc: records");
}

static void huge_pages_off(struct table_part part) {
    if (part.size != 0) platform_huge_pages(part.start, part.size, false);
}

static bool map_first_parts(size_t mask) {
    for (unsigned number = 0; number < TABLES * PARTS; number++) {
        struct table_part part = part_of(number, mask, false);
        if (map_part(number / PARTS, part) == RESERVED) {
            huge_pages_off(part);
            continue;
        }
        while (number-- > 0) {
            part = part_of(number, mask, false);
            if (part.size != 0) unmap_readable(part.start, part.size); /* the records cannot be written */
        }
        return false;
    }
    return true;
}

/* `words`: the tables but that of the records, one behind the other, each with `room` bytes. */
static NOINLINE void set_tables(char *records, char *words, size_t room, size_t mask) {
    page_map.records = records;
    page_map.leaf = (table_word *)words;
    page_map.node = (table_word *)(words + room);
    page_map.link = (table_word *)(words + 2 * room);
    page_map.slot_owner = (_Atomic(uintptr_t) *)(words + 3 * room);
    set_masks(mask);
}

/* The tables lie at a random place in the part of the region that is below the roots. */
static bool make_growing_tables(void) {
    uintptr_t region = platform_region(TABLES_ROOM + WINDOW_MOST, WINDOW_MOST), page = platform_page_size();
    if (region == 0) return false;
    uintptr_t spread = TABLES_ROOM - TABLES * TABLE_ROOM;
    first_table = // NOLINTNEXTLINE(performance-no-int-to-ptr)
        (char *)(region + align_down((uintptr_t)platform_random() % spread, page));
    size_t low = (size_t)1 << FIRST_LOW_SHIFT, far = low << platform_random() % FAR_BITS;
    if (!map_first_parts((low - 1) | far)) return false;
    set_tables(first_table, first_table + TABLE_ROOM, TABLE_ROOM, (low - 1) | far);
    page_map.base = (char *)(region + TABLES_ROOM); // NOLINT(performance-no-int-to-ptr)
    return true;
}

#if JW_FIRST_WINDOW_SHIFT == JW_WINDOW_SHIFT

size_t page_map_covered(void) {
    return page_map.mask;
}

static bool records_cover(granule_id root) {
    (void)root;
    return true;
}

bool page_map_grow(size_t mask) {
    (void)mask;
    return false;
}

static wide_bool grow_tables(unsigned first, size_t granules) {
    (void)first, (void)granules;
    return true;
}

#else

size_t page_map_covered(void) {
    return atomic_load_explicit(&page_map.mask, memory_order_relaxed);
}

static _Atomic(uint32_t) announced[FAR_BITS][TABLES * PARTS];

/* The kernel has found a mapping at the part's place. It is ours if another thread has tried to map the part, and all
 * of the part is mapped. */
static bool another_has_mapped(const _Atomic(uint32_t) *threads, char *part, size_t size) {
    /* relaxed: the kernel orders that thread's announcement and mapping before our refusal */
    return atomic_load_explicit(threads, memory_order_relaxed) > 1 && platform_is_mapped(part, size);
}

/* Doubles a part of a table: maps as many bytes behind it, unless they are mapped already. False: the OS refuses, or a
 * foreign mapping is there. */
static wide_bool extend_part(unsigned number, size_t mask) {
    struct table_part part = part_of(number, mask, true);
    if (part.size == 0) return true;
    _Atomic(uint32_t) *threads = &announced[__builtin_ctzl(~mask) - FIRST_LOW_SHIFT][number];
    atomic_fetch_add_explicit(threads, 1, memory_order_relaxed); /* as in another_has_mapped */
    enum platform_reserved result = map_part(number / PARTS, part);
    if (result == RESERVE_REFUSED || (result == RESERVE_TAKEN && !another_has_mapped(threads, part.start, part.size))) {
        atomic_fetch_sub_explicit(threads, 1, memory_order_relaxed);
        return false;
    }
    huge_pages_off(part); /* again for another thread's part: that thread may be stopped before this call */
    return true;
}

/* Doubles the records, or all other tables, until they cover the granules. */
static wide_bool grow_tables(unsigned first, size_t granules) {
    unsigned end = first == RECORDS ? LEAF : TABLES, shift = first == RECORDS ? RECORD_SHIFT : 0;
    mask_word *word = first == RECORDS ? &page_map.record_mask : &page_map.mask;
    for (uintptr_t from; granules & ~((from = atomic_load_explicit(word, memory_order_relaxed)) >> shift);) {
        size_t mask = from >> shift;
        uintptr_t to = (mask | (mask + 1)) << shift;
        unsigned number = first * PARTS;
        while (number < end * PARTS && extend_part(number, mask)) number++;
        if (number < end * PARTS && atomic_load_explicit(word, memory_order_relaxed) == from) return false;
        /* relaxed: the kernel orders the mapping of the parts; a thread that has seen a mask sees no older one later */
        if (number == end * PARTS)
            atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_relaxed, memory_order_relaxed);
    }
    return true;
}

static bool records_cover(granule_id root) {
    return (root & ~(atomic_load_explicit(&page_map.record_mask, memory_order_relaxed) >> RECORD_SHIFT)) == 0;
}

bool page_map_grow(size_t mask) {
    size_t low = page_map_low(mask), covered = page_map_far(mask) ? 2 * low : low;
    if (low >= WINDOW_MOST >> JW_GRANULE_SHIFT) return false;
    bool lag = covered < RECORDS_LAG && platform_page_size() <= GRANULE_SIZE; /* as in close_a_range */
    return (lag || grow_tables(RECORDS, mask | low)) && grow_tables(LEAF, mask | low);
}

#endif

/* Tables that do not grow are made at once. Returns the shift of their window: no larger than the limit of the address
 * space can use. */
static unsigned fixed_window_shift(void) {
    size_t limit = platform_address_limit();
    unsigned shift = JW_WINDOW_SHIFT;
    while (shift > JW_ROOT_SHIFT + 4 && (uint64_t)1 << (shift - 1) > limit) shift--;
    return shift;
}

static bool make_tables(unsigned shift) {
    size_t granules = (size_t)1 << (shift - JW_GRANULE_SHIFT), roots = granules / ROOT_GRANULES,
           page = platform_page_size();
    size_t size = align_up(granules * WORDS_SIZE + roots * sizeof(uintptr_t), page);
    size_t records_size = align_up(granules << RECORD_SHIFT, page) + page; /* the last page is a fence */
    char *tables = fenced_reserve(size, "jwmalloc: records"), *records = NULL;
    if (tables) records = platform_reserve_readable(records_size, "jwmalloc: slabs");
    if (!records) {
        if (tables) fenced_unmap(tables, size);
        return false;
    }
    platform_huge_pages(records, records_size, false);
    platform_huge_pages(tables, size, false);
    set_tables(records, tables, granules * sizeof(table_word), granules - 1);
    page_map.base = NULL;
    return true;
}

bool page_map_start(void) {
    for (int tries = 0; JW_FIRST_WINDOW_SHIFT < JW_WINDOW_SHIFT && tries < REGION_TRIES; tries++)
        if (make_growing_tables()) return true;
    for (unsigned shift = fixed_window_shift(); shift > JW_ROOT_SHIFT; shift--)
        if (make_tables(shift)) return true;
    return false;
}

wide_bool page_map_admit_slabs(granule_id root) {
    /* small roots share a page; the records of others are whole pages, which have 64 KB at most */
    size_t page = ROOT_GRANULES * RECORD_SIZE % 65536 ? platform_page_size() : 1;
    size_t from = align_down((size_t)root << RECORD_SHIFT, page);
    size_t to = align_up((root + ROOT_GRANULES) << RECORD_SHIFT, page);
    return grow_tables(RECORDS, root) && platform_protect(page_map.records + from, to - from, true);
}

void page_map_discard(granule_id root) {
    if (records_cover(root)) platform_discard(record_at(root), ROOT_GRANULES * RECORD_SIZE);
    platform_discard(&page_map.leaf[root], ROOT_GRANULES * sizeof(table_word));
    platform_discard(&page_map.node[root], ROOT_GRANULES * sizeof(table_word));
    platform_discard(&page_map.link[root], ROOT_GRANULES * sizeof(table_word));
}

size_t page_map_slots(void) {
    return page_map.base ? WINDOW_MOST >> JW_ROOT_SHIFT : (mask_get(&page_map.mask) + 1) / ROOT_GRANULES;
}
