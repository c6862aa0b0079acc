/* mapping_cache.c - freed mappings: push, pop the best fit, drain. */
#include "backend/mapping_cache.h"

#include "backend/ownership.h"
#include "base/near.h"
#include "base/published.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"

#define IN_HANDS ((uintptr_t)1)

struct mapping_entry {
    _Atomic(uintptr_t) start;
    _Atomic(size_t) size;
    _Atomic(uint32_t) buffer;
};

enum { ENTRIES = JW_CACHED_MAPPINGS };
static struct mapping_entry mapping_entries[ENTRIES + 1]; /* the last one is never used: C has no empty arrays */
PUBLISHED(mapping_entries);
static _Atomic(size_t) cached_total;
PUBLISHED(cached_total);
static _Atomic(uint32_t) next_victim;

size_t mapping_cache_bytes(void) {
    return NEAR_LOAD(cached_total);
}

/* Counts the mapping's memory as cached, also for the end of the reclamation thread (OW1). */
static void count_mapped(intptr_t bytes) {
    atomic_fetch_add_explicit(&cached_total, (size_t)bytes, memory_order_relaxed);
    free_granules_add(MAPPED, bytes >> JW_GRANULE_SHIFT);
}

static bool entry_acquire(struct mapping_entry *entry, uintptr_t from) {
    /* [MC1] acquire: the entry's last user is done with it; the mapping's last use; pairs [MC2]; client
     * mapping_cache_pop */
    return atomic_compare_exchange_strong_explicit(&entry->start, &from, IN_HANDS, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void entry_release(struct mapping_entry *entry, uintptr_t to) {
    /* [MC2] release: what the entry says; the mapping's last use; pairs [MC1]; client mapping_cache_pop */
    atomic_store_explicit(&entry->start, to, memory_order_release);
}

static void entry_fill(struct mapping_entry *entry, const struct cached_mapping *mapping) {
    atomic_store_explicit(&entry->size, mapping->size, memory_order_relaxed);
    atomic_store_explicit(&entry->buffer, ownership_active(), memory_order_relaxed);
    count_mapped((intptr_t)mapping->size);
    entry_release(entry, (uintptr_t)mapping->start);
}

static size_t entry_size(const struct mapping_entry *entry) {
    return atomic_load_explicit(&entry->size, memory_order_relaxed);
}

/* The caller has the entry, whose start was `start`. */
static void entry_read(const struct mapping_entry *entry, uintptr_t start, struct cached_mapping *mapping) {
    mapping->start = (char *)start; // NOLINT(performance-no-int-to-ptr)
    mapping->size = entry_size(entry);
    count_mapped(-(intptr_t)mapping->size);
}

static uintptr_t entry_start(const struct mapping_entry *entry) {
    return atomic_load_explicit(&entry->start, memory_order_relaxed);
}

bool mapping_cache_push(const struct cached_mapping *mapping, struct cached_mapping *old) {
    old->start = NULL;
    old->size = 0;
    if (ENTRIES == 0) return false;
    for (struct mapping_entry *entry = mapping_entries; entry < mapping_entries + ENTRIES; entry++) {
        if (entry_start(entry) || !entry_acquire(entry, 0)) continue;
        entry_fill(entry, mapping);
        return true;
    }
    /* no entry is empty: they lose their mappings in turn. The mapping that waits longest most often fits no request */
    uint32_t turn = atomic_fetch_add_explicit(&next_victim, 1, memory_order_relaxed);
    struct mapping_entry *victim = &mapping_entries[turn % (ENTRIES + !ENTRIES)];
    uintptr_t start = entry_start(victim);
    if (start <= IN_HANDS || !entry_acquire(victim, start)) return false;
    entry_read(victim, start, old);
    entry_fill(victim, mapping);
    return true;
}

/* How badly the mapping suits a request of `size` bytes. The smallest of those that are at most an eighth larger suits
 * best, then the one nearest in size. SIZE_MAX: the mapping does not suit. */
static size_t entry_distance(const struct mapping_entry *entry, uintptr_t start, size_t size, size_t alignment) {
    size_t has = entry_size(entry), most = HUGE_FITTING > 1 ? HUGE_FITTING * size : size + size / HUGE_ROOM_PART;
    if (start <= IN_HANDS || (start & (alignment - 1)) != 0 || has > most || size / HUGE_START_PART > has)
        return SIZE_MAX;
    return has >= size ? has - size : size - has + size / HUGE_ROOM_PART;
}

static struct mapping_entry *best_fit(size_t size, size_t alignment) {
    struct mapping_entry *best = NULL;
    size_t least = SIZE_MAX;
    for (struct mapping_entry *entry = mapping_entries; entry < mapping_entries + ENTRIES; entry++) {
        size_t distance = entry_distance(entry, entry_start(entry), size, alignment);
        if (distance >= least) continue;
        least = distance;
        best = entry;
    }
    return best;
}

bool mapping_cache_pop(size_t size, size_t alignment, struct cached_mapping *taken) {
    for (int tries = 0; tries < JW_RANGE_TRIES; tries++) {
        struct mapping_entry *entry = best_fit(size, alignment);
        if (!entry) return false;
        uintptr_t start = entry_start(entry);
        if (start <= IN_HANDS || !entry_acquire(entry, start)) continue;
        bool right = entry_distance(entry, start, size, alignment) < SIZE_MAX; /* it may be another one by now */
        if (right) entry_read(entry, start, taken);
        entry_release(entry, right ? 0 : start);
        if (right) return true;
    }
    return false;
}

size_t mapping_cache_drain(unsigned buffer, size_t granules) {
    size_t dropped = 0;
    for (struct mapping_entry *entry = mapping_entries; entry < mapping_entries + ENTRIES; entry++) {
        uintptr_t start = entry_start(entry);
        if (dropped >> JW_GRANULE_SHIFT >= granules) break;
        if (buffer != ANY_BUFFER && atomic_load_explicit(&entry->buffer, memory_order_relaxed) != buffer) continue;
        if (start <= IN_HANDS || !entry_acquire(entry, start)) continue;
        struct cached_mapping mapping;
        entry_read(entry, start, &mapping);
        entry_release(entry, 0);
        unmap_or_defer(mapping.start, mapping.size);
        dropped += mapping.size;
    }
    return dropped;
}
