/* heap.c - refills: where a thread's next small object comes from, and the heap's periodic maintenance. */
#include "frontend/heap.h"

#include <limits.h>

#include "backend/slab_source.h"
#include "base/assert.h"
#include "config/options.h"
#include "config/policy.h"
#include "frontend/object_cache.h"
#include "frontend/size_map.h"
#include "frontend/suspect.h"
#include "platform/platform.h"

#define NO_KEY 1u /* no slab's */

struct heap no_heap = {
    .local = {[0 ... SIZE_CLASS_COUNT] = {.first = LINK_END}}, .map = {NO_CLASS * FREE_TARGET_WORDS}, .key = NO_KEY};
_Thread_local struct thread thread __attribute__((tls_model("initial-exec"))) = {.heap = &no_heap, .key = NO_KEY};

void heap_note_thread(void) {
    if (thread.heap != &no_heap)
        atomic_store_explicit(&thread.heap->thread, platform_thread_id(), memory_order_relaxed);
}

/* Behind all others: the longer a slab waits, the more objects come back to it, and the fewer refills there are. */
static void class_push(struct slab **first, struct slab *slab) {
    struct slab *last = *first ? slab_by_id(&(*first)->own.previous) : slab;
    slab_id_set(&slab->own.next, NULL);
    slab_id_set(&slab->own.previous, last);
    if (*first) slab_id_set(&last->own.next, slab);
    else *first = slab;
    slab_id_set(&(*first)->own.previous, slab);
}

static void class_remove(struct slab **first, struct slab *slab) {
    struct slab *next = slab_by_id(&slab->own.next), *behind = next ? next : *first;
    if (slab == *first) *first = next;
    else slab_id_copy(&slab_by_id(&slab->own.previous)->own.next, &slab->own.next);
    if (behind != slab) slab_id_copy(&behind->own.previous, &slab->own.previous);
}

static struct slab *class_pop(struct slab **first) {
    struct slab *slab = *first;
    if (!slab) return NULL;
    *first = slab_by_id(&slab->own.next);
    if (*first) slab_id_copy(&(*first)->own.previous, &slab->own.previous);
    return slab;
}

static NOINLINE void give_slab_back(struct slab *slab) {
    __atomic_store_n(&slab->key, 0, __ATOMIC_RELAXED);
    slab_clear_links(slab);
    slab_place(slab->class, record_id(slab), 1);
}

static NOINLINE void give_slabs_back(struct heap *heap, unsigned count) {
    struct slab *slab;
    for (unsigned left = count; left > 0 && (slab = pool_take(&heap->pool)); left--) give_slab_back(slab);
}

/* Slabs that the heap's pool may hold: a share of those in use, an equal share of what all may cache, and a minimum.
 * The share is smaller while the program grows beyond its peak: then another tier needs new pages for each of these. */
static uint32_t pool_limit(const struct heap *heap) {
    size_t percent = option(&options.pool_percent) / (thrift_is_at_peak() ? POOL_PART_AT_PEAK : 1);
    size_t limit = option(&options.pool_min), of_own = heap->in_use_count * percent / 100,
           of_all = (option(&options.pool_total) >> JW_GRANULE_SHIFT) / heap_count();
    if (limit < of_own) limit = of_own;
    return (uint32_t)(limit < of_all ? of_all : limit);
}

/* A slab without objects, in no class list, into the pool, or left until it is returned. */
static void make_empty(struct heap *heap, struct slab *slab) {
    invariant(cross_count(&slab->cross) == 0);
    invariant(slab_list_length(slab->own.first) == slab->linked);
    if (UNLIKELY(slab_is_on_its_way(slab))) {
        slab_set_state(slab, RETURNING);
        free_target_set_budget(&slab->own, 1);
        return;
    }
    slab_set_state(slab, EMPTY);
    free_target_set_budget(&slab->own, 0);
    slab->origin += ORIGIN_POISON;
    heap->in_use_count--;
    size_map_count_empty(heap, slab->class);
    pool_push(&heap->pool, slab);
    if (heap->pool.count > pool_limit(heap)) give_slabs_back(heap, GIVE_AT_ONCE);
    else if (heap->pool.count == POOL_ROUND_FROM) thrift_wake();
}

/* A slab all of whose objects have come back, some through the cross list. */
static void collect_all(struct heap *heap, struct slab *slab) {
    slab_collect(slab);
    make_empty(heap, slab);
}

static void make_partial(struct heap *heap, struct slab *slab, uint32_t out) {
    slab->target = &slab->own;
    free_target_set_budget(&slab->own, out);
    if (slab_is_free(slab, out) && slab_reclaim(slab, out)) {
        collect_all(heap, slab);
        return;
    }
    slab_set_state(slab, PARTIAL);
    class_push(&heap->partial[slab->class], slab);
}

static void make_current(struct heap *heap, struct slab *slab) {
    slab_set_state(slab, CURRENT);
    slab->target = JW_SECURE ? &slab->own : &heap->local[slab->class];
    free_target_set_budget(&slab->own, slab->own.budget + 1u);
    heap->current[slab->class] = slab;
}

/* Leaves a current slab whose lists have no object. False when some came back meanwhile. */
static bool make_full(struct slab *slab) {
    if (cross_count(&slab->cross) > 0 || (!slab->marked && !slab_mark(slab))) return false;
    free_target_set_budget(&slab->own, size_classes[slab->class].frees_until_reopen);
    slab_set_state(slab, FULL);
    if (size_classes[slab->class].cached == 0) slab->target = &slab->own;
    return true;
}

static ALWAYS_INLINE bool has_reopened(const struct heap *heap) {
    return heap->reopened_taken || !id_stack_is_empty(&heap->reopened);
}

/* The local list may end with the slab's origin. */
static void leave_current(struct heap *heap, unsigned class) {
    heap->current[class] = NULL;
    heap->local[class].first = LINK_END;
}

/* Whether malloc would find nothing of the class next, and the refill that it needs is none that looks at what other
 * threads have emptied. */
static bool wants_slab(const struct heap *heap, unsigned class) {
    if (heap->partial[class] || !link_end(heap->local[class].first)) return false;
    return (heap->refills + 1) % KEEP_PERIOD != 0 && !has_reopened(heap);
}

/* Leaves the class's current slab, if there is one and it has no object left. False: it has. */
static bool leave_spent_current(struct heap *heap, unsigned class) {
    struct slab *current = heap->current[class];
    if (!current) return true;
    bool left = !link_end(current->own.first) || current->linked < size_class_capacity(class);
    if (left || !make_full(current)) return false;
    leave_current(heap, class);
    return true;
}

/* Where malloc would find nothing next, a full slab to which an object has come back is current at once: no list has to
 * change. Counts as a refill. */
static bool take_over(struct heap *heap, struct slab *slab) {
    unsigned class = slab->class;
    if (!wants_slab(heap, class)) return false;
    heap->refills++;
    if (!leave_spent_current(heap, class)) return false;
    if (UNLIKELY(!slab_reclaim(slab, slab_out(slab)))) {
        slab_set_state(slab, FULL);
        return false;
    }
    make_current(heap, slab);
    heap->local[class].first = slab_refill(slab);
    return true;
}

void heap_open_slab(struct heap *heap, struct slab *slab) {
    if (slab_state(slab) == PARTIAL) {
        /* all that were out were free: each was freed again */
        if (UNLIKELY(slab_is_taken(slab))) misuse(DOUBLE_FREE, slab->own.first, 0);
        class_remove(&heap->partial[slab->class], slab);
        make_empty(heap, slab);
        return;
    }
    invariant(slab_state(slab) == FULL);
    make_partial(heap, slab, slab_out(slab));
}

void heap_budget_spent(struct slab *slab) {
    struct heap *heap = heap_of(slab); /* the thread's, but for a fork in a signal handler (heap_fork.c) */
    if (slab_state(slab) != FULL || !take_over(heap, slab)) heap_open_slab(heap, slab);
}

void heap_push_reopened(struct slab *slab) {
    struct heap *heap = heap_of(slab);
    id_stack_push(&heap->reopened, record_id(slab), range_set_next);
    remote_work_note();
    if (UNLIKELY(atomic_load_explicit(&heap->abandoned, memory_order_relaxed))) thrift_wake();
}

/* A partial slab all of whose objects have come back, some through the cross list: told by counts alone. */
static void collect_if_empty(struct heap *heap, struct slab *slab) {
    if (!slab_is_free(slab, slab->own.budget)) return;
    if (UNLIKELY(!slab_reclaim(slab, slab->own.budget))) {
        slab_set_state(slab, PARTIAL);
        return;
    }
    class_remove(&heap->partial[slab->class], slab);
    collect_all(heap, slab);
}

/* A slab that another thread has returned is an ordinary one again, which may be marked. */
static void take_back(struct heap *heap, struct slab *slab) {
    invariant(slab->marked && slab_state(slab) != EMPTY);
    slab->marked = false;
    if (slab_state(slab) == PARTIAL) collect_if_empty(heap, slab);
    else if (slab_state(slab) == RETURNING || (slab_state(slab) == FULL && !slab_mark(slab)))
        make_partial(heap, slab, slab_out(slab));
}

/* A few: they may be many, and their records are in other processors' caches. */
static NOINLINE void take_back_some(struct heap *heap, unsigned most) {
    if (!heap->reopened_taken) heap->reopened_taken = id_stack_take_all(&heap->reopened);
    for (; heap->reopened_taken && most > 0; most--) {
        struct slab *slab = record_at(heap->reopened_taken);
        heap->reopened_taken = range_next(heap->reopened_taken);
        take_back(heap, slab);
    }
}

static ALWAYS_INLINE void take_reopened(struct heap *heap) {
    if (UNLIKELY(has_reopened(heap))) take_back_some(heap, TAKE_AT_ONCE);
    if (UNLIKELY(heap_has_suspects(heap))) heap_settle(heap);
}

static NOINLINE void collect(struct heap *heap, unsigned class, unsigned most) {
    for (struct slab *slab = heap->partial[class], *next; slab && most > 0; slab = next, most--) {
        next = slab_by_id(&slab->own.next);
        collect_if_empty(heap, slab);
    }
}

/* Whether all objects of a current slab are in its lists, as far as that takes no more than so many steps. */
static bool is_unused(const struct slab *slab, const void *local, unsigned most) {
    uint32_t elsewhere = slab->own.budget - 1u - cross_count(&slab->cross);
    if (elsewhere > most) return false;
    for (; elsewhere > 0 && !link_end(local); elsewhere--) local = slab_next(local, slab_key(slab));
    return elsewhere == 0 && link_end(local);
}

static NOINLINE void collect_current(struct heap *heap, unsigned class, unsigned most) {
    struct slab *slab = heap->current[class];
    void *local = heap->local[class].first;
    if (!slab || !is_unused(slab, local, most)) return;
    if (!link_end(local)) slab_put_back(slab, local);
    slab_collect(slab);
    heap->current[class] = NULL;
    heap->local[class].first = LINK_END;
    slab->target = &slab->own;
    make_empty(heap, slab);
}

/* One class, so that no malloc takes long. */
static NOINLINE void collect_some(struct heap *heap) {
    take_reopened(heap);
    heap->collected = (heap->collected + 1) % SIZE_CLASS_COUNT;
    if (size_classes[heap->collected].cached > 0) heap_drain_cache(heap, heap->collected);
    collect(heap, heap->collected, COLLECT_STEPS);
    collect_current(heap, heap->collected, heap->refills % COLLECT_LONG_PERIOD == 0 ? UINT_MAX : COLLECT_STEPS);
    if (heap->refills % KEEP_PERIOD == 0) {
        midend_collect(heap->mid_caches);
        pool_look(&heap->pool);
    }
    give_slabs_back(heap, pool_unused(&heap->pool, GIVE_AT_ONCE));
    thrift_take_turn();
}

void heap_take_back(struct heap *heap) {
    if (heap_has_suspects(heap)) heap_settle(heap);
    take_back_some(heap, UINT_MAX); /* what was taken already, then what others have returned since */
    take_back_some(heap, UINT_MAX);
}

void heap_collect(struct heap *heap, enum collect depth) {
    midend_let_go(heap->mid_caches);
    heap_take_back(heap);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        if (size_classes[class].cached > 0) heap_drain_cache(heap, class);
        collect(heap, class, depth == COLLECT_ALL ? UINT_MAX : COLLECT_STEPS);
        collect_current(heap, class, UINT_MAX);
    }
}

static COLD void open_full_slabs(granule_id root, void *context) {
    struct heap *heap = context;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++) {
        struct slab *slab = record_at(id);
        /* the leaf first: its table is small. It may be of a slab that was given back, but the key is not */
        if (!leaf_same(leaf_get(id), leaf_slab(heap->number)) || !slab_has_key(slab, heap->key)) continue;
        if (slab_state(slab) == FULL && !link_end(slab->own.first)) heap_open_slab(heap, slab);
    }
}

COLD void heap_make_room(struct heap *heap) {
    page_map_walk(open_full_slabs, heap);
    heap_collect(heap, COLLECT_ALL);
}

void heap_give_back_pool(struct heap *heap) {
    for (struct slab *slab = pool_take_all(&heap->pool), *next; slab; slab = next) {
        next = slab_by_id(&slab->own.next);
        give_slab_back(slab);
    }
}

bool heap_pool_round(struct heap *heap) {
    if (pool_is_empty(&heap->pool)) return false;
    if (!pool_is_idle(&heap->pool)) {
        thrift_wake(); /* there will be another round, to see it idle */
        return true;
    }
    heap_give_back_pool(heap);
    return false;
}

void heap_drain(struct heap *heap) {
    heap_collect(heap, COLLECT_ALL);
    heap_give_back_pool(heap);
}

void heap_flush(void) {
    if (thread.heap != &no_heap) heap_drain(thread.heap);
}

static struct slab *slab_of_pool(struct heap *heap, unsigned class) {
    struct slab *slab = pool_take(&heap->pool);
    for (unsigned left = GIVE_AT_ONCE; JW_SECURE && slab && slab->class != class; left--) { /* classes stay apart */
        give_slab_back(slab);
        slab = left > 0 ? pool_take(&heap->pool) : NULL;
    }
    if (!slab) return NULL;
    slab->origin -= ORIGIN_POISON;
    if (slab->class != class) {
        slab_clear_links(slab);
        slab_format(slab, slab_origin(slab) + 1, class);
    }
    return slab;
}

static struct slab *new_slab(struct heap *heap, unsigned class, bool *zeroed) {
    char *start = slab_fetch(class, FOR_SLABS, 1, zeroed);
    if (!start) return NULL;
    struct slab *slab = slab_of(start);
    slab_format(slab, start, class);
    __atomic_store_n(&slab->key, (uintptr_t)heap->key, __ATOMIC_RELAXED);
    leaf_set(granule_of(start), leaf_slab(heap->number));
    return slab;
}

COLD void heap_scatter(struct heap *heap, unsigned count) {
    bool zeroed;
    for (struct slab *slab; count > 0 && (slab = new_slab(heap, 0, &zeroed)); count--) {
        slab_set_state(slab, EMPTY);
        slab->origin += ORIGIN_POISON;
        pool_push(&heap->pool, slab);
    }
}

static ALWAYS_INLINE void *refilled(struct heap *heap, unsigned class, void *first) {
    heap->local[class].first = first;
    heap->local[class].budget = heap->budget[class];
    heap->cache_spent &= ~(1u << class);
    return heap_pop(&heap->local[class].first, heap->key);
}

/* From a slab without objects. */
static NOINLINE void *refill_anew(struct heap *heap, unsigned class) {
    bool untouched = false;
    struct slab *slab = slab_of_pool(heap, class);
    if (!slab) slab = new_slab(heap, class, &untouched);
    if (!slab) return NULL;
    heap->in_use_count++;
    size_map_count_slab(heap, class);
    make_current(heap, slab);
    if (!untouched || JW_SECURE || JW_FILL || UNLIKELY(slab_scatter_secret))
        return refilled(heap, class, slab_refill(slab));
    /* No link is written yet: the program is about to touch the object, and its page need not come while it waits for
     * malloc. */
    slab->linked++;
    free_target_set_budget(&slab->own, slab->own.budget + 1u);
    return slab_origin(slab) + 1;
}

void heap_maintain(struct heap *heap) {
    if (UNLIKELY(++heap->refills % COLLECT_PERIOD == 0)) collect_some(heap);
}

/* For the next refill: its first object, and for the one after it the record. Where a class has many partial slabs both
 * have left the caches since they were freed. */
static ALWAYS_INLINE void prefetch_next(const struct slab *slab) {
    if (!slab) return;
    __builtin_prefetch(slab->own.first, 1);
    __builtin_prefetch(slab_by_id(&slab->own.next), 1);
}

/* The first partial slab that no round is at work on, as far as it is among the first few. */
static struct slab *pop_partial(struct heap *heap, unsigned class) {
    for (unsigned left = COLLECT_STEPS; left > 0; left--) {
        struct slab *slab = class_pop(&heap->partial[class]);
        if (!slab || LIKELY(slab_reclaim(slab, slab->own.budget))) return slab;
        slab_set_state(slab, PARTIAL);
        class_push(&heap->partial[class], slab);
    }
    return NULL;
}

static NOINLINE void *refill_slowly(struct heap *heap, unsigned class) {
    struct slab *slab = heap->current[class];
    if (slab) {
        do {
            void *first = slab_refill(slab);
            if (first) return refilled(heap, class, first);
        } while (!make_full(slab));
        leave_current(heap, class);
    }
    take_reopened(heap);
    slab = pop_partial(heap, class);
    if (UNLIKELY(!slab)) return refill_anew(heap, class);
    prefetch_next(heap->partial[class]);
    make_current(heap, slab);
    void *first = slab_refill(slab);
    invariant(first); /* a partial slab has an object in one of its lists */
    return refilled(heap, class, first);
}

void *heap_refill(struct heap *heap, unsigned class) {
    invariant(link_end(heap->local[class].first));
    heap_maintain(heap);
    struct slab *slab = heap->current[class];
    void *first = slab ? slab_refill_freed(slab) : NULL;
    return first ? refilled(heap, class, first) : refill_slowly(heap, class);
}
