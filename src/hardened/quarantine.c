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
#include "hardened/quarantine_ring.h"
#include "hardened/trailer.h"
#include "platform/fence.h"
#include "platform/misuse.h"
#include "platform/random.h"

static size_t size_for(uint32_t entries) {
    return align_up(sizeof(struct quarantine) + entries * sizeof(struct quarantine_entry), platform_page_size());
}

static struct quarantine *make_quarantine(size_t limit) {
    size_t wanted = limit / QUARANTINE_ENTRY_BYTES;
    uint32_t most = wanted < QUARANTINE_LEAST_ENTRIES ? QUARANTINE_LEAST_ENTRIES : (uint32_t)wanted;
    uint32_t entries = 2u << (31 - __builtin_clz(most - 1)); /* the next power of two */
    struct quarantine *made = (struct quarantine *)fenced_reserve(size_for(entries), "jwmalloc: quarantine");
    if (!made) return NULL;
    made->limit = limit;
    made->most = made->end = most;
    made->mask = entries - 1;
    made->cleared = option(&options.zero_on_free) ? CLEARED_INLINE : 0;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        uint32_t size = size_classes[class].size, many = READY_BYTES / size;
        size_t list = list_of_class(class);
        made->slot[list] = size;
        made->ready_most[list] = many < READY_MOST ? many : READY_MOST;
    }
    return made;
}

/* The quarantine that the thread had when it forked. Its heap is inherited by then, and nobody would empty it. */
static _Thread_local struct quarantine *left_by_fork __attribute__((tls_model("initial-exec")));

/* A signal handler may have forked: the malloc or free that it interrupted goes on with this quarantine. So nothing is
 * emptied here. */
void quarantine_child_begins(void) {
    struct heap *heap = thread_heap();
    if (heap == &no_heap || !heap->quarantine) return;
    left_by_fork = heap->quarantine;
    heap->quarantine = NULL;
}

static void give_up_ready(struct quarantine *quarantine) {
    for (unsigned list = 0; list < READY_LISTS; list += FREE_TARGET_WORDS)
        for (char *object; (object = ready_take(quarantine, list));) free_object(object);
}

/* Gives the child's heap the quarantine from before the fork. Its ready objects are those that siblings have, too. */
static void take_over(struct heap *heap) {
    if (LIKELY(!left_by_fork) || heap->quarantine) return;
    heap->quarantine = left_by_fork;
    left_by_fork = NULL;
    give_up_ready(heap->quarantine);
}

static NOINLINE struct quarantine *make_current(struct heap *heap) {
    size_t limit = option(&options.quarantine);
    if (heap == &no_heap && (heap_thread_has_ended() || !(heap = heap_attach()))) return NULL;
    take_over(heap);
    if (heap->quarantine && heap->quarantine->limit == limit) return heap->quarantine;
    quarantine_drain(heap);
    if (UNLIKELY(heap->quarantine)) return heap->quarantine; /* with its old limit */
    return limit ? heap->quarantine = make_quarantine(limit) : NULL;
}

/* The calling thread's quarantine, made for the present options. NULL: not wanted, or no memory. */
static ALWAYS_INLINE struct quarantine *current_quarantine(void) {
    struct heap *heap = thread_heap();
    struct quarantine *quarantine = heap->quarantine;
    return LIKELY(quarantine && quarantine->limit == option(&options.quarantine)) ? quarantine : make_current(heap);
}

static void report_written(const char *object, size_t size, uint8_t fill) {
    size_t left = fill_left(object, size, fill);
    if (UNLIKELY(left != size)) misuse(WRITE_AFTER_FREE, object, left);
}

/* Reports a write to an object that leaves the ring. Of a cleared object only the first word is checked here, which the
 * allocator may overwrite; malloc checks the rest (entry.c). */
static ALWAYS_INLINE void check_leaving(const char *object, size_t slot, bool cleared) {
    if (UNLIKELY(!cleared)) report_written(object, slot - TRAILER_SIZE, (uint8_t)address_byte(object));
    else if (UNLIKELY(*(const filled_word *)object != 0)) report_written(object, sizeof(filled_word), 0);
}

/* Gives an object to malloc, if it is a small one of this heap, which has the key, or to the allocator. */
static ALWAYS_INLINE void place_leaving(struct quarantine *quarantine, char *object, uint64_t key) {
    struct slab *slab = slab_of(object);
    bool own = slab_has_key(slab, key);
    if (UNLIKELY(!own || !ready_put(quarantine, list_of_class(slab->class), object))) free_object(object);
}

/* Takes one of the `window` oldest objects out of the ring. `random`: 16 random bits. */
static ALWAYS_INLINE struct quarantine_entry quarantine_pop(struct quarantine *quarantine, uint32_t window,
                                                            uint64_t random) {
    uint32_t head = quarantine->head++, at = head + (uint32_t)(random * window >> 16);
    struct quarantine_entry *first = &quarantine->ring[head & quarantine->mask];
    struct quarantine_entry *chosen = &quarantine->ring[at & quarantine->mask], entry = *chosen;
    *chosen = *first;
    quarantine->bytes -= entry_slot(entry);
    return entry;
}

/* Of the oldest objects, which one leaves is random: each object waits for all others but an eighth and four, and a
 * random number more. */
static ALWAYS_INLINE uint32_t window_of(uint32_t count) {
    uint32_t window = count / QUARANTINE_SHUFFLED_PART + QUARANTINE_SHUFFLED_LEAST;
    return window < count ? window : count;
}

/* Makes room for an object, and for some more: so few frees come here. */
static void make_room(struct quarantine *quarantine, size_t slot) {
    size_t bytes = quarantine->limit - quarantine->limit / QUARANTINE_SPARE_PART;
    bytes = slot < bytes ? bytes - slot : 0;
    uint32_t count = quarantine->tail - quarantine->head;
    uint32_t most = quarantine->most - quarantine->most / QUARANTINE_SPARE_PART - 1;
    uint32_t window = window_of(count);
    const uint64_t key = thread_key();
    const bool cleared = option(&options.zero_on_free);
    uint64_t random = 0;
    for (; quarantine->bytes > bytes || count > most; count--, random >>= 16) {
        if (random == 0) random = random_word();
        if (UNLIKELY(window > count)) window = count;
        struct quarantine_entry entry = quarantine_pop(quarantine, window, random & UINT16_MAX);
        check_leaving(entry_object(entry), entry_slot(entry), cleared);
        place_leaving(quarantine, entry_object(entry), key);
    }
    quarantine->end = quarantine->head + quarantine->most;
}

void quarantine_push(char *object, size_t slot) {
    memset(object, option(&options.zero_on_free) ? 0 : (int)address_byte(object), slot - TRAILER_SIZE);
    struct quarantine *quarantine = current_quarantine();
    if (!quarantine || slot > quarantine->limit / QUARANTINE_PART) {
        free_object(object);
        return;
    }
    if (quarantine->bytes + slot > quarantine->limit || quarantine->tail == quarantine->end)
        make_room(quarantine, slot);
    quarantine_put(quarantine, object, slot);
}

void quarantine_push_large(char *object, bool guarded) {
    struct quarantine *quarantine = current_quarantine();
    large_push(quarantine ? &quarantine->large : NULL, object, guarded);
}

void quarantine_drain(struct heap *heap) {
    struct quarantine *quarantine = heap->quarantine;
    if (!quarantine) return;
    while (quarantine->tail != quarantine->head) {
        struct quarantine_entry entry = quarantine_pop(quarantine, 1, 0);
        check_leaving(entry_object(entry), entry_slot(entry), option(&options.zero_on_free));
        free_object(entry_object(entry));
    }
    quarantine->end = quarantine->head + quarantine->most;
    give_up_ready(quarantine);
    if (UNLIKELY(!large_ring_drain(&quarantine->large)) || UNLIKELY(heap->quarantine != quarantine)) return;
    heap->quarantine = NULL;
    fenced_unmap(quarantine, size_for(quarantine->mask + 1));
}
