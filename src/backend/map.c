#include "backend/map.h"

#include "base/assert.h"
#include "config/options.h"
#include "platform/fence.h"
#include "platform/kept.h"

/* Before map_start: words that say "not ours" for every address. */
static record_word nothing[1];
static _Alignas(RECORD_SIZE) char no_record[RECORD_SIZE];
static _Atomic(uintptr_t) no_roots[1];

struct map map = {
    .mask = 0, .records = no_record, .leaf = nothing, .node = nothing, .link = nothing, .roots = no_roots};

/* Bytes of a granule in the tables of words, and in all but that of the roots. */
enum { WORDS_SIZE = 3 * sizeof(record_word), TABLES_SIZE = RECORD_SIZE + WORDS_SIZE };

/* The window follows the address space that the process may have, so that the tables fit into a small limit. */
static unsigned first_window_shift(void) {
    size_t limit = platform_address_limit();
    unsigned shift = JW_WINDOW_SHIFT;
    while (shift > JW_ROOT_SHIFT + 4 && (uint64_t)1 << (shift - 1) > limit) shift--;
    return shift;
}

static bool make_tables(unsigned shift) {
    size_t granules = (size_t)1 << (shift - JW_GRANULE_SHIFT), roots = granules / ROOT_GRANULES,
           page = platform_page_size();
    size_t size = granules * WORDS_SIZE + roots * sizeof(uintptr_t);
    size_t records_size = (granules << RECORD_SHIFT) + 2 * page - 1; /* whose last page is never written to: a fence */
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
    map.records = records;
    map.leaf = (record_word *)tables;
    map.node = map.leaf + granules;
    map.link = map.node + granules;
    map.roots = (_Atomic(uintptr_t) *)(map.link + granules);
    map.mask = granules - 1;
    map.record_mask = map.mask << RECORD_SHIFT;
    return true;
}

bool map_start(void) {
    for (unsigned shift = first_window_shift(); shift > JW_ROOT_SHIFT; shift--)
        if (make_tables(shift)) return true;
    return false;
}

bool map_admit_slabs(granule_id root, size_t count) {
    size_t page = platform_page_size(), from = ((size_t)root << RECORD_SHIFT) & ~(page - 1);
    size_t to = ((root + count * ROOT_GRANULES) << RECORD_SHIFT) + page - 1;
    return platform_protect(map.records + from, (to & ~(page - 1)) - from, true); /* a small root's share a page */
}

/* All slots that were ever claimed, which are few and side by side: from the first, up to before the second. */
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

bool map_claim(char *address) {
    granule_id id = granule_of(address);
    uintptr_t expected = slot_word(address);
    /* [MP1] acquire: the last owner is done with the slot's records; pairs [MP2]; client root_back */
    if (id == 0 || slot_is_claimed(expected) ||
        !atomic_compare_exchange_strong_explicit(&map.roots[id / ROOT_GRANULES], &expected, (uintptr_t)address,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    note_slot(id / ROOT_GRANULES);
    return true;
}

static bool next_claimed(size_t *slot) {
    size_t from = atomic_load_explicit(&first_slot, memory_order_relaxed);
    if (*slot < from) *slot = from;
    for (; *slot < atomic_load_explicit(&last_slot, memory_order_relaxed); ++*slot)
        if (slot_is_claimed(atomic_load_explicit(&map.roots[*slot], memory_order_relaxed))) return true;
    return false;
}

/* Cuts [start, start + size) out of an area that is larger by `room`, where its slot is free. */
static char *claim_inside(char *area, size_t size, size_t alignment, size_t room) {
    for (size_t before = 0; before <= room; before += alignment) {
        if (!map_claim(area + before)) continue;
        unmap_or_keep(area, before);
        unmap_or_keep(area + before + size, room - before);
        return area + before;
    }
    return NULL;
}

/* Where the slot of the first address is taken, a growing area is searched for one that is not, up to the whole
 * window. */
char *map_reserve(size_t size, size_t alignment, const char *name) {
    const size_t window = (size_t)map.mask << JW_GRANULE_SHIFT;
    unmap_kept();
    for (size_t room = 0; room <= PTRDIFF_MAX - size; room = room < window / 8 ? room * 4 + alignment : window) {
        char *area = platform_reserve(size + room, alignment, name);
        if (!area) return NULL;
        char *address = claim_inside(area, size, alignment, room);
        if (address && option(&options.huge_pages)) platform_huge_pages(address, size, true);
        if (address) return address;
        unmap_or_keep(area, size + room);
        if (room == window) return NULL;
    }
    return NULL;
}

void map_abandon(char *address, size_t size) {
    granule_id id = granule_of(address);
    platform_discard(record_at(id), ROOT_GRANULES * RECORD_SIZE);
    platform_discard(&map.leaf[id], ROOT_GRANULES * sizeof(record_word));
    platform_discard(&map.node[id], ROOT_GRANULES * sizeof(record_word));
    platform_discard(&map.link[id], ROOT_GRANULES * sizeof(record_word));
    size_t granules = size >> JW_GRANULE_SHIFT, told = granules < SLOT_MOST_TOLD ? granules : SLOT_MOST_TOLD;
    atomic_store_explicit(&map.roots[id / ROOT_GRANULES], (uintptr_t)address | told << 1 | SLOT_GONE,
                          memory_order_release); /* [MP2] pairs [MP1]; client root_back */
}

bool map_release(char *address, size_t size) {
    if (!platform_release(address, size)) return false;
    map_abandon(address, size);
    return true;
}

size_t map_metadata(size_t untouched) {
    size_t claimed = 0;
    for (size_t slot = 0; next_claimed(&slot); slot++) claimed++;
    if (untouched > claimed) untouched = claimed;
    return (claimed - untouched) * ((size_t)ROOT_GRANULES * TABLES_SIZE + sizeof(uintptr_t));
}

void map_walk(void (*visit)(granule_id id, void *context), void *context) {
    for (size_t slot = 0; next_claimed(&slot); slot++) visit((granule_id)(slot * ROOT_GRANULES), context);
}
