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
#include "platform/platform.h"
#include "platform/random.h"

static size_t size_for(uint32_t entries) {
    return align_up(sizeof(struct quarantine) + entries * sizeof(struct quarantine_entry), platform_page_size());
}

/* Where `ready` is while the class has no ready object. */
static char **no_ready(struct quarantine *quarantine, unsigned class) {
    return &quarantine->ready[class][READY_ENDS - 1];
}

static struct quarantine_class make_class(struct quarantine *quarantine, unsigned class) {
    size_t slot = size_classes[class].size, many = READY_BYTES / slot;
    return (struct quarantine_class){
        .step = slot * secrets.place,
        .push = push_of(charge_of(slot) + (is_cleared_inline(slot) ? 0 : CHARGED_SLOWLY)),
        .entry = own_entry_at(place_of_class(class)),
        .slot = (uint16_t)slot,
        .charge = (uint8_t)charge_of(slot),
        .ready = no_ready(quarantine, class),
        .ready_last = no_ready(quarantine, class) + (many < READY_MOST ? many : READY_MOST),
    };
}

static void forget_all(struct quarantine *quarantine) {
    quarantine->head = 0;
    quarantine_set(quarantine, (int64_t)(quarantine->limit / CHARGE_UNIT), 0);
}

/* Without a fence, the kernel makes one mapping of several neighbouring rings. */
static struct quarantine *reserve_ring(size_t size, bool fenced) {
    static const char name[] = "jwmalloc: quarantine";
    return (struct quarantine *)(fenced ? fenced_reserve(size, name)
                                        : platform_reserve(size, platform_page_size(), name));
}

static struct quarantine *make_quarantine(const struct heap *heap, size_t limit) {
    size_t wanted = limit / QUARANTINE_ENTRY_BYTES;
    uint32_t most = wanted < QUARANTINE_LEAST_ENTRIES ? QUARANTINE_LEAST_ENTRIES : (uint32_t)wanted;
    uint32_t entries = 2u << (31 - __builtin_clz(most - 1)); /* the next power of two */
    bool fenced = heap->number <= RINGS_FENCED;
    struct quarantine *made = reserve_ring(size_for(entries), fenced);
    if (!made) return NULL;
    made->fenced = fenced;
    made->limit = limit;
    forget_all(made);
    made->mask = entries - 1;
    made->clears = option(&options.zero_on_free);
    large_rings_begin(&made->large, limit);
    for (unsigned class = 0; class <= DISABLED; class ++) {
        if (class < SIZE_CLASS_COUNT) made->of[class] = make_class(made, class);
        else made->of[class].ready = made->of[class].ready_last = no_ready(made, class);
    }
    return made;
}

/* The quarantine that the thread had when it forked. Its heap is inherited by then, and nobody would empty it. In a
 * host any thread of the child may take it. */
OF_FORKING_THREAD _Atomic(struct quarantine *) left_by_fork;

static void set_left_by_fork(struct quarantine *quarantine) {
    atomic_store_explicit(&left_by_fork, quarantine, memory_order_relaxed);
}

/* Encloses steps that leave the quarantine half changed for a while. */
static ALWAYS_INLINE void quarantine_changes(struct quarantine *quarantine, bool begins) {
    signals_see_order();
    quarantine->changing = begins;
    signals_see_order();
}

/* A signal handler may have forked: the malloc or free that it interrupted goes on with this quarantine, in the child,
 * when the handler returns. So nothing is emptied here. Where one is half changed, the child leaves it alone. */
void quarantine_child_begins(void) {
    struct heap *heap = thread_heap();
    if (heap == &no_heap || !heap->quarantine) return;
    set_left_by_fork(heap->quarantine->changing ? NULL : heap->quarantine);
    heap->quarantine = NULL;
}

static void report_written(const char *object, size_t size, uint8_t fill) {
    size_t left = fill_left(object, size, fill);
    if (UNLIKELY(left != size)) misuse(WRITE_AFTER_FREE, object, left);
}

/* Reports a write to an object that goes to the allocator. Of a cleared object only the first word is checked here,
 * which the allocator may overwrite. malloc checks the rest (entry.c), and all of one that waits ready. */
static ALWAYS_INLINE void check_leaving(const char *object, size_t slot, bool cleared) {
    if (UNLIKELY(!cleared)) report_written(object, slot - TRAILER_SIZE, (uint8_t)address_byte(object));
    else if (UNLIKELY(*(const filled_word *)object != 0)) report_written(object, sizeof(filled_word), 0);
}

/* Gives an object to the allocator. */
static NOINLINE void leave_object(char *object, size_t slot, bool cleared) {
    check_leaving(object, slot, cleared);
    free_object(object);
}

static void give_up_ready(struct quarantine *quarantine) {
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
        for (char *object; (object = ready_take(&quarantine->of[class]));)
            leave_object(object, size_classes[class].size, quarantine->clears);
}

/* Gives the ready objects from before the fork, which siblings have, too, to the allocator. An interrupted malloc
 * takes one from the list before it reads it: either it finds none, or the object is not in the list here. */
static void take_over_ready(struct quarantine *old) {
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        const struct quarantine_class *from = &old->of[class];
        for (char **at = no_ready(old, class) + 1; at <= from->ready_last; at++) {
            char *object = *at;
            *at = NULL;
            if (object && at <= from->ready) leave_object(object, size_classes[class].size, old->clears);
        }
    }
}

/* Copies what waits, as the objects of another heap. The newest one stays behind: an interrupted free may not have
 * cleared it yet, and goes on with it. */
static void take_over_ring(struct quarantine *made, struct quarantine *old) {
    while (quarantine_newest(old) - old->head > 1) {
        struct quarantine_entry entry = old->ring[++old->head & old->mask];
        size_t slot = entry_is_own(entry) ? class_at(old, entry_place(entry))->slot : entry_slot(entry);
        quarantine_put(made, made->state + push_of(charge_of(slot)), entry_of_other(entry_object(entry), slot));
    }
}

/* Gives the child's heap what the quarantine from before the fork has. That one itself stays, empty, for an interrupted
 * operation. */
static void take_over(struct heap *heap) {
    if (heap->quarantine || LIKELY(!atomic_load_explicit(&left_by_fork, memory_order_relaxed))) return;
    struct quarantine *old = atomic_exchange_explicit(&left_by_fork, NULL, memory_order_relaxed);
    struct quarantine *made = old ? make_quarantine(heap, old->limit) : NULL;
    if (!made) {
        if (old) set_left_by_fork(old);
        return;
    }
    take_over_ring(made, old);
    take_over_ready(old);
    made->large = old->large;
    old->large.kept = old->large.emptied = (struct large_ring){.count = 0};
    forget_all(old);
    platform_discard(old->ring, (old->mask + 1) * sizeof *old->ring);
    heap->quarantine = made;
}

static NOINLINE struct quarantine *make_current(struct heap *heap) {
    size_t limit = option(&options.quarantine);
    if (heap == &no_heap && (heap_thread_has_ended() || !(heap = heap_attach()))) return NULL;
    take_over(heap);
    if (heap->quarantine && heap->quarantine->limit == limit) return heap->quarantine;
    quarantine_drain(heap);
    if (UNLIKELY(heap->quarantine)) return heap->quarantine; /* with its old limit */
    return limit ? heap->quarantine = make_quarantine(heap, limit) : NULL;
}

/* The calling thread's quarantine, made for the present options. NULL: not wanted, or no memory. */
static ALWAYS_INLINE struct quarantine *current_quarantine(void) {
    struct heap *heap = thread_heap();
    struct quarantine *quarantine = heap->quarantine;
    return LIKELY(quarantine && quarantine->limit == option(&options.quarantine)) ? quarantine : make_current(heap);
}

/* Gives an object to malloc, if it is a small one of this heap and its class has not enough, or to the allocator.
 * Returns what the ring has counted for it. */
static ALWAYS_INLINE size_t place_leaving(struct quarantine *quarantine, struct quarantine_entry entry, bool cleared) {
    if (UNLIKELY(!entry_is_own(entry))) {
        leave_object(entry_object(entry), entry_slot(entry), cleared);
        return charge_of(entry_slot(entry));
    }
    struct quarantine_class *class = class_at(quarantine, entry_place(entry));
    char *object = own_entry_object(entry, class->entry);
    if (!cleared) check_leaving(object, class->slot, cleared);
    if (UNLIKELY(!ready_put(class, object))) leave_object(object, class->slot, cleared);
    return class->charge;
}

/* Of the oldest objects, which one leaves is random: each object waits for all others but an eighth and four, and a
 * random number more. */
static ALWAYS_INLINE uint32_t window_of(uint32_t count) {
    uint32_t window = count / QUARANTINE_SHUFFLED_PART + QUARANTINE_SHUFFLED_LEAST;
    return window < count ? window : count;
}

/* Numbers of 16 bits in a random word: so many objects leave at once, if there are enough. */
enum { RANDOM_PARTS = 4 };

/* Number of a random one of `most` entries, which is small. */
static ALWAYS_INLINE uint32_t random_part(uint64_t random, uint32_t most) {
    return (uint16_t)random * most >> 16;
}

/* Takes a random one of `most` entries out. The oldest of these takes its place. */
static ALWAYS_INLINE struct quarantine_entry take_entry(struct quarantine_entry *oldest,
                                                        struct quarantine_entry *chosen) {
    struct quarantine_entry entry = *chosen;
    *chosen = *oldest;
    return entry;
}

/* Takes objects out of the ring until so much is left. `cleared`, a constant: zero_on_free. */
static ALWAYS_INLINE void take_out(struct quarantine *quarantine, int64_t wanted, bool cleared) {
    const uint32_t mask = quarantine->mask, newest = quarantine_newest(quarantine);
    struct quarantine_entry *const ring = quarantine->ring;
    uint32_t head = quarantine->head;
    const uint32_t window = window_of(newest - head);
    int64_t left = quarantine_left(quarantine);
    while (left < wanted) {
        const bool many = newest - head >= window + RANDOM_PARTS;
        uint64_t random = random_word();
        struct quarantine_entry *oldest = &ring[(head + 1) & mask];
        if (LIKELY(many && oldest + window + RANDOM_PARTS <= ring + mask + 1)) {
            head += RANDOM_PARTS;
#pragma GCC unroll 4
            for (unsigned part = 0; part < RANDOM_PARTS; part++, random >>= 16, oldest++)
                left += (int64_t)place_leaving(quarantine, take_entry(oldest, oldest + random_part(random, window)),
                                               cleared);
            continue;
        }
        const uint32_t most = many ? window : 1;
        for (unsigned part = 0; part < RANDOM_PARTS && left < wanted; part++, random >>= 16) {
            oldest = &ring[++head & mask];
            struct quarantine_entry *chosen = &ring[(head + random_part(random, most)) & mask];
            left += (int64_t)place_leaving(quarantine, take_entry(oldest, chosen), cleared);
        }
    }
    const uint32_t rounds = head & ~mask; /* numbers stay small */
    quarantine->head = head - rounds;
    quarantine_set(quarantine, left, newest - rounds);
}

/* Makes room for an object, and for some more: so few frees come here. */
static NOINLINE void make_room(struct quarantine *quarantine, size_t charge) {
    size_t limit = quarantine->limit / CHARGE_UNIT, wanted = limit / QUARANTINE_SPARE_PART + charge;
    if (wanted > limit) wanted = limit; /* so much is left when the ring is empty */
    quarantine_changes(quarantine, true);
    if (LIKELY(quarantine->clears)) take_out(quarantine, (int64_t)wanted, true);
    else take_out(quarantine, (int64_t)wanted, false);
    quarantine_changes(quarantine, false);
}

void quarantine_push(char *object, size_t slot) {
    memset(object, option(&options.zero_on_free) ? 0 : (int)address_byte(object), slot - TRAILER_SIZE);
    struct quarantine *quarantine = current_quarantine();
    if (!quarantine || slot > quarantine->limit / QUARANTINE_PART) {
        free_object(object);
        return;
    }
    size_t charge = charge_of(slot);
    if (quarantine_left(quarantine) < (int64_t)charge) make_room(quarantine, charge);
    const struct slab *slab = slab_of(object);
    bool own = slab_has_key(slab, thread_key());
    quarantine_put(quarantine, quarantine->state + push_of(charge),
                   own ? entry_of_own(object, own_entry_at(place_of_class(slab->class)))
                       : entry_of_other(object, slot));
}

void quarantine_push_large(char *object, bool guarded) {
    struct quarantine *quarantine = current_quarantine();
    if (quarantine) quarantine_changes(quarantine, true);
    large_push(quarantine ? &quarantine->large : NULL, object, guarded);
    if (quarantine) quarantine_changes(quarantine, false);
}

void quarantine_drain(struct heap *heap) {
    struct quarantine *quarantine = heap->quarantine;
    if (!quarantine) return;
    quarantine_changes(quarantine, true);
    while (quarantine_newest(quarantine) != quarantine->head) {
        struct quarantine_entry entry = quarantine->ring[++quarantine->head & quarantine->mask];
        size_t slot = entry_is_own(entry) ? class_at(quarantine, entry_place(entry))->slot : entry_slot(entry);
        quarantine->state += (uint64_t)charge_of(slot) << LEFT_SHIFT;
        check_leaving(entry_object(entry), slot, quarantine->clears);
        free_object(entry_object(entry));
    }
    give_up_ready(quarantine);
    if (UNLIKELY(!large_rings_drain(&quarantine->large)) || UNLIKELY(heap->quarantine != quarantine)) {
        quarantine_changes(quarantine, false);
        return;
    }
    heap->quarantine = NULL;
    size_t size = size_for(quarantine->mask + 1);
    if (quarantine->fenced) fenced_unmap(quarantine, size);
    else unmap_or_defer(quarantine, size);
}
