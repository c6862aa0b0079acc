/* waiting.c - the entries of waiting mappings: put, take the best fit, drop. */
#include "backend/waiting.h"

#include "backend/ownership.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"

#define IN_HANDS ((uintptr_t)1)

struct waiting_entry {
    _Atomic(uintptr_t) start;
    _Atomic(size_t) size, kept;
    _Atomic(uint32_t) buffer;
};

enum { ENTRIES = JW_WAITING_MAPPINGS };
static struct waiting_entry waiting_entries[ENTRIES + 1]; /* the last one is never used: C has no empty arrays */
static _Atomic(size_t) kept_total;
static _Atomic(uint32_t) next_victim;

size_t waiting_kept(void) {
    return atomic_load_explicit(&kept_total, memory_order_relaxed);
}

/* Counts the mapping's memory as cached, also for the end of the reclamation thread (OW1). */
static void note_waiting(intptr_t kept) {
    atomic_fetch_add_explicit(&kept_total, (size_t)kept, memory_order_relaxed);
    range_count(MAPPED, kept >> JW_GRANULE_SHIFT);
}

static bool entry_acquire(struct waiting_entry *entry, uintptr_t from) {
    /* [WA1] acquire: the entry's last user is done with it; the mapping's last use; pairs [WA2]; client waiting_take */
    return atomic_compare_exchange_strong_explicit(&entry->start, &from, IN_HANDS, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void entry_release(struct waiting_entry *entry, uintptr_t to) {
    /* [WA2] release: what the entry says; the mapping's last use; pairs [WA1]; client waiting_take */
    atomic_store_explicit(&entry->start, to, memory_order_release);
}

static void entry_fill(struct waiting_entry *entry, const struct waiting *mapping) {
    atomic_store_explicit(&entry->size, mapping->size, memory_order_relaxed);
    atomic_store_explicit(&entry->kept, mapping->kept, memory_order_relaxed);
    atomic_store_explicit(&entry->buffer, ownership_active(), memory_order_relaxed);
    note_waiting((intptr_t)mapping->kept);
    entry_release(entry, (uintptr_t)mapping->start);
}

static size_t entry_size(const struct waiting_entry *entry) {
    return atomic_load_explicit(&entry->size, memory_order_relaxed);
}

/* The caller has the entry, whose start was `start`. */
static void entry_read(const struct waiting_entry *entry, uintptr_t start, struct waiting *mapping) {
    mapping->start = (char *)start; // NOLINT(performance-no-int-to-ptr)
    mapping->size = entry_size(entry);
    mapping->kept = atomic_load_explicit(&entry->kept, memory_order_relaxed);
    note_waiting(-(intptr_t)mapping->kept);
}

static uintptr_t entry_start(const struct waiting_entry *entry) {
    return atomic_load_explicit(&entry->start, memory_order_relaxed);
}

bool waiting_place(const struct waiting *mapping, struct waiting *old) {
    old->start = NULL;
    old->size = old->kept = 0;
    if (ENTRIES == 0) return false;
    for (struct waiting_entry *entry = waiting_entries; entry < waiting_entries + ENTRIES; entry++) {
        if (entry_start(entry) || !entry_acquire(entry, 0)) continue;
        entry_fill(entry, mapping);
        return true;
    }
    /* the entries' turn: the one that has waited longest is most often the one that fits no request */
    uint32_t turn = atomic_fetch_add_explicit(&next_victim, 1, memory_order_relaxed);
    struct waiting_entry *victim = &waiting_entries[turn % (ENTRIES + !ENTRIES)];
    uintptr_t start = entry_start(victim);
    if (start <= IN_HANDS || !entry_acquire(victim, start)) return false;
    entry_read(victim, start, old);
    entry_fill(victim, mapping);
    return true;
}

static bool entry_fits(const struct waiting_entry *entry, uintptr_t start, size_t least, size_t most,
                       size_t alignment) {
    size_t size = entry_size(entry);
    return start > IN_HANDS && size >= least && size <= most && (start & (alignment - 1)) == 0;
}

static struct waiting_entry *best_fit(size_t least, size_t most, size_t alignment) {
    struct waiting_entry *best = NULL;
    for (struct waiting_entry *entry = waiting_entries; entry < waiting_entries + ENTRIES; entry++) {
        if (!entry_fits(entry, entry_start(entry), least, most, alignment)) continue;
        most = entry_size(entry); /* at least as good */
        best = entry;
    }
    return best;
}

bool waiting_take(size_t least, size_t most, size_t alignment, struct waiting *taken) {
    for (int tries = 0; tries < JW_RANGE_TRIES; tries++) {
        struct waiting_entry *entry = best_fit(least, most, alignment);
        if (!entry) return false;
        uintptr_t start = entry_start(entry);
        if (start <= IN_HANDS || !entry_acquire(entry, start)) continue;
        bool right = entry_fits(entry, start, least, most, alignment); /* it may be another mapping's by now */
        if (right) entry_read(entry, start, taken);
        entry_release(entry, right ? 0 : start);
        if (right) return true;
    }
    return false;
}

size_t waiting_drop(unsigned buffer, size_t granules) {
    size_t dropped = 0;
    for (struct waiting_entry *entry = waiting_entries; entry < waiting_entries + ENTRIES; entry++) {
        uintptr_t start = entry_start(entry);
        if (dropped >> JW_GRANULE_SHIFT >= granules) break;
        if (buffer != ANY_BUFFER && atomic_load_explicit(&entry->buffer, memory_order_relaxed) != buffer) continue;
        if (start <= IN_HANDS || !entry_acquire(entry, start)) continue;
        struct waiting mapping;
        entry_read(entry, start, &mapping);
        entry_release(entry, 0);
        unmap_or_defer(mapping.start, mapping.size);
        dropped += mapping.kept;
    }
    return dropped;
}

size_t waiting_addresses(void) {
    size_t bytes = 0;
    for (struct waiting_entry *entry = waiting_entries; entry < waiting_entries + ENTRIES; entry++)
        if (entry_start(entry) > IN_HANDS) bytes += entry_size(entry);
    return bytes;
}
