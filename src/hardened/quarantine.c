/* quarantine.c - the ring of a heap's quarantine: clearing or filling objects, and checking them when they leave. */
#include "hardened/quarantine.h"

#include <string.h>

#include "base/align.h"
#include "config/options.h"
#include "config/policy.h"
#include "core/allocator.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/thread_heap.h"
#include "hardened/fill_words.h"
#include "hardened/large.h"
#include "hardened/quarantine_entry.h"
#include "hardened/trailer.h"
#include "platform/fence.h"
#include "platform/misuse.h"
#include "platform/random.h"

struct quarantine {
    size_t limit, bytes; /* the option's value when the ring was made; bytes of the objects in it */
    struct large_ring large;
    uint32_t entries, first, count;
    struct quarantine_entry ring[];
};

static size_t size_for(uint32_t entries) {
    return align_up(sizeof(struct quarantine) + entries * sizeof(struct quarantine_entry), platform_page_size());
}

static struct quarantine *make_quarantine(size_t limit) {
    size_t wanted = limit / QUARANTINE_ENTRY_BYTES;
    uint32_t entries = wanted < QUARANTINE_LEAST_ENTRIES ? QUARANTINE_LEAST_ENTRIES : (uint32_t)wanted;
    struct quarantine *made = (struct quarantine *)fenced_reserve(size_for(entries), "jwmalloc: quarantine");
    if (!made) return NULL;
    made->limit = limit;
    made->entries = entries;
    return made;
}

static NOINLINE struct quarantine *make_current(struct heap *heap) {
    size_t limit = option(&options.quarantine);
    if (heap == &no_heap && (heap_thread_has_ended() || !(heap = heap_attach()))) return NULL;
    quarantine_drain(heap);
    if (UNLIKELY(heap->quarantine)) return heap->quarantine; /* with its old limit */
    return limit ? heap->quarantine = make_quarantine(limit) : NULL;
}

/* The calling thread's quarantine, made for the present options. NULL: not wanted, or no memory. */
static ALWAYS_INLINE struct quarantine *current(void) {
    struct heap *heap = thread_heap();
    struct quarantine *quarantine = heap->quarantine;
    return LIKELY(quarantine && quarantine->limit == option(&options.quarantine)) ? quarantine : make_current(heap);
}

static void report_written(const char *object, size_t size, uint8_t fill) {
    size_t left = fill_left(object, size, fill);
    if (UNLIKELY(left != size)) misuse(WRITE_AFTER_FREE, object, left);
}

/* Gives the object to the allocator. Reports a write to the object after its free. Of a cleared object only the first
 * word is checked here, which the allocator is about to overwrite; malloc checks the rest (entry.c). */
static ALWAYS_INLINE void leave_quarantine(char *object, size_t slot) {
    if (!option(&options.zero_on_free)) report_written(object, slot - TRAILER_SIZE, address_byte(object));
    else if (UNLIKELY(*(const filled_word *)object != 0)) report_written(object, sizeof(filled_word), 0);
    deallocate(object);
}

static ALWAYS_INLINE uint32_t wrapped(const struct quarantine *quarantine, uint32_t at) {
    return at < quarantine->entries ? at : at - quarantine->entries;
}

static void quarantine_pop(struct quarantine *quarantine) {
    struct quarantine_entry entry = quarantine->ring[quarantine->first];
    size_t slot = entry_slot(entry);
    quarantine->first = wrapped(quarantine, quarantine->first + 1);
    quarantine->count--;
    quarantine->bytes -= slot;
    leave_quarantine(entry_object(entry), slot);
}

/* The new entry changes places with a random one of the newest: an eighth of all and four. So each object waits for all
 * others but these, and a random number more. */
static ALWAYS_INLINE void put_in_quarantine(struct quarantine *quarantine, struct quarantine_entry entry) {
    uint32_t window = quarantine->count / QUARANTINE_SHUFFLED_PART + QUARANTINE_SHUFFLED_LEAST;
    uint32_t back = random_less((window < quarantine->count ? window : quarantine->count) + 1);
    uint32_t last = wrapped(quarantine, quarantine->first + quarantine->count++);
    uint32_t at = last >= back ? last - back : last + quarantine->entries - back;
    quarantine->ring[last] = quarantine->ring[at];
    quarantine->ring[at] = entry;
}

void quarantine_push(char *object, size_t slot) {
    struct quarantine *quarantine = current();
    memset(object, option(&options.zero_on_free) ? 0 : address_byte(object), slot - TRAILER_SIZE);
    if (UNLIKELY(!quarantine || slot > quarantine->limit / QUARANTINE_PART)) {
        deallocate(object);
        return;
    }
    while (quarantine->count == quarantine->entries || quarantine->bytes + slot > quarantine->limit)
        quarantine_pop(quarantine);
    quarantine->bytes += slot;
    put_in_quarantine(quarantine, entry_made(object, slot));
}

void quarantine_push_large(char *object, bool guarded) {
    struct quarantine *quarantine = current();
    large_push(quarantine ? &quarantine->large : NULL, object, guarded);
}

void quarantine_drain(struct heap *heap) {
    struct quarantine *quarantine = heap->quarantine;
    if (!quarantine) return;
    while (quarantine->count > 0) quarantine_pop(quarantine);
    if (UNLIKELY(!large_ring_drain(&quarantine->large))) return;
    heap->quarantine = NULL;
    fenced_unmap(quarantine, size_for(quarantine->entries));
}
