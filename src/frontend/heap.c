#include "frontend/heap.h"

#include "base/assert.h"
#include "config/options.h"
#include "secure/guard.h"

/* Refills between two looks at slabs that other threads may have emptied; of how many classes, how many of each. */
enum { TIDY_PERIOD = 64, TIDY_CLASSES = 8, LOOK_AT = 16 };

enum { ROUND_FROM = 32 }; /* slabs in a pool from which the reclamation thread should know of it */

static void list_push(struct slab_list *list, struct slab *slab) {
    slab->all_next = list->first;
    slab->all_previous = NULL;
    *(list->first ? &list->first->all_previous : &list->last) = slab;
    list->first = slab;
}

static void list_remove(struct slab_list *list, struct slab *slab) {
    *(slab->all_previous ? &slab->all_previous->all_next : &list->first) = slab->all_next;
    *(slab->all_next ? &slab->all_next->all_previous : &list->last) = slab->all_previous;
}

static void class_push(struct slab **first, struct slab *slab) {
    slab->next = *first;
    slab->previous = NULL;
    if (*first) (*first)->previous = slab;
    *first = slab;
}

static void class_remove(struct slab **first, struct slab *slab) {
    *(slab->previous ? &slab->previous->next : first) = slab->next;
    if (slab->next) slab->next->previous = slab->previous;
}

static void give_back(struct slab *first) {
    for (struct slab *slab = first, *next; slab; slab = next) {
        slab_check(slab);
        next = slab->next;
        slab_place(granule_of(slab), 1);
    }
}

/* Slabs that the heap's pool may hold: a share of those in use, an equal share of what all may hold, and a minimum. */
static uint32_t pool_limit(const struct heap *heap) {
    size_t limit = option(&options.pool_min), of_own = heap->in_use_count * option(&options.pool_percent) / 100,
           of_all = (option(&options.pool_total) >> JW_GRANULE_SHIFT) / heap_count();
    if (limit < of_own) limit = of_own;
    return (uint32_t)(limit < of_all ? of_all : limit);
}

/* A slab without objects, in no class list, into the pool. Above the limit a quarter goes back, the oldest. */
static void make_empty(struct heap *heap, struct slab *slab) {
    invariant(atomic_load_explicit(&slab->cross, memory_order_relaxed) == 0);
    invariant(slab_list_length(slab->freed) == slab->carved);
    slab->state = EMPTY;
    slab->budget = 0;
    slab->bound = slab->cross_bound = 0;
    list_remove(&heap->in_use, slab);
    heap->in_use_count--;
    pool_push(&heap->pool, slab);
    uint32_t limit = pool_limit(heap);
    if (heap->pool.count > limit) give_back(pool_trim(&heap->pool, limit - limit / 4));
    else if (heap->pool.count == ROUND_FROM) thrift_wake();
}

static void make_partial(struct heap *heap, struct slab *slab, uint32_t out) {
    slab->budget = out;
    if (out == cross_count(&slab->cross)) {
        slab_collect(slab);
        make_empty(heap, slab);
        return;
    }
    slab->state = PARTIAL;
    class_push(&heap->partial[slab->class], slab);
}

static void make_current(struct heap *heap, struct slab *slab) {
    slab->state = CURRENT;
    slab->budget += 1;
    heap->current[slab->class] = slab;
}

void heap_budget_spent(struct slab *slab) {
    struct heap *heap = slab->heap;
    if (slab->state == PARTIAL) {
        class_remove(&heap->partial[slab->class], slab);
        make_empty(heap, slab);
        return;
    }
    invariant(slab->state == FULL);
    if (cross_unmark_full(&slab->cross)) {
        make_partial(heap, slab, slab->hidden);
        return;
    }
    slab->state = RETURNING;
    slab->budget = slab->hidden + 1;
}

void heap_return_slab(struct slab *slab) {
    struct heap *heap = slab->heap;
    struct slab *first = atomic_load_explicit(&heap->returned, memory_order_relaxed);
    do slab->next = first;
    /* [RS1] release: the link; pairs [RS2]; client returned_stack */
    while (!atomic_compare_exchange_weak_explicit(&heap->returned, &first, slab, memory_order_release,
                                                  memory_order_relaxed));
    if (UNLIKELY(atomic_load_explicit(&heap->resting, memory_order_relaxed))) thrift_wake();
}

static void collect_returned(struct heap *heap) {
    if (!atomic_load_explicit(&heap->returned, memory_order_relaxed)) return;
    /* [RS2] acquire: the links; pairs [RS1]; client returned_stack */
    struct slab *slab = atomic_exchange_explicit(&heap->returned, NULL, memory_order_acquire);
    for (struct slab *next; slab; slab = next) {
        slab_check(slab);
        next = slab->next;
        invariant(slab->state == FULL || slab->state == RETURNING);
        make_partial(heap, slab, slab_out(slab));
    }
}

/* Slabs all of whose objects have come back, some through the cross list: told by counts alone. */
static void collect_if_empty(struct heap *heap, struct slab *slab) {
    if (slab->state != PARTIAL || slab->budget != cross_count(&slab->cross)) return;
    class_remove(&heap->partial[slab->class], slab);
    slab_collect(slab);
    make_empty(heap, slab);
}

static void collect_some(struct heap *heap, unsigned class) {
    struct slab *next = heap->partial[class];
    for (unsigned left = LOOK_AT; next && left > 0; left--) {
        struct slab *slab = next;
        slab_check(slab);
        next = slab->next;
        collect_if_empty(heap, slab);
    }
}

static void collect_all(struct heap *heap) {
    for (struct slab *slab = heap->in_use.first, *next; slab; slab = next) {
        slab_check(slab);
        next = slab->all_next;
        collect_if_empty(heap, slab);
    }
}

/* Whether all objects of a current slab are in its lists. */
static bool is_unused(const struct slab *slab, const void *local) {
    slab_check(slab);
    uint32_t elsewhere = slab->budget - 1 - cross_count(&slab->cross);
    for (; elsewhere > 0 && !link_end(local); elsewhere--) local = slab_next(local, map.key);
    return elsewhere == 0 && link_end(local);
}

static void tidy_current(struct heap *heap, unsigned class) {
    struct slab *slab = heap->current[class];
    void *local = heap->local[class];
    if (!slab || !is_unused(slab, local)) return;
    if (!link_end(local)) slab_put_back(slab, local);
    slab_collect(slab);
    heap->current[class] = NULL;
    heap->local[class] = NULL;
    make_empty(heap, slab);
}

void heap_tidy(struct heap *heap, enum tidy depth) {
    midend_let_go(heap->holds);
    collect_returned(heap);
    if (depth == TIDY_ALL) collect_all(heap);
    for (unsigned left = depth == TIDY_SOME ? TIDY_CLASSES : SIZE_CLASS_COUNT; left > 0; left--) {
        heap->tidied = (heap->tidied + 1) % SIZE_CLASS_COUNT;
        if (depth != TIDY_ALL) collect_some(heap, heap->tidied);
        tidy_current(heap, heap->tidied);
    }
    give_back(pool_trim_unused(&heap->pool));
}

void heap_give_back_pool(struct heap *heap) {
    give_back(pool_take_all(&heap->pool));
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

void heap_flush(void) {
    if (thread.heap == &no_heap) return;
    heap_tidy(thread.heap, TIDY_ALL);
    heap_give_back_pool(thread.heap);
}

/* A slab without objects for the class: of the pool, or a new one. */
static struct slab *empty_slab(struct heap *heap, unsigned class) {
    struct slab *slab = pool_take(&heap->pool);
    if (slab) {
        slab_check(slab);
        if (slab->class != class) slab_format(slab, heap, class);
    } else {
        bool zeroed;
        slab = slab_fetch(1, &zeroed);
        if (!slab) return NULL;
        slab_format(slab, heap, class);
        leaf_set(granule_of(slab), heap->tag);
    }
    slab->bound = slab->cross_bound = size_class_bound(class);
    list_push(&heap->in_use, slab);
    heap->in_use_count++;
    return slab;
}

/* Leaves the current slab, all of whose objects are in use. False when some came back meanwhile. */
static bool make_full(struct slab *slab) {
    if (!cross_mark_full(&slab->cross)) return false;
    slab->state = FULL;
    slab->hidden = slab->budget - 2;
    slab->budget = 1;
    return true;
}

static ALWAYS_INLINE void *refilled(struct heap *heap, unsigned class, void *first) {
    heap->local[class] = first;
    return heap_pop(heap, class, map.key);
}

/* A slab of the class with a free object. */
static struct slab *next_slab(struct heap *heap, unsigned class) {
    if (UNLIKELY(++heap->refills % TIDY_PERIOD == 0)) heap_tidy(heap, TIDY_SOME);
    else collect_returned(heap);
    struct slab *slab = heap->partial[class];
    if (UNLIKELY(!slab)) return empty_slab(heap, class);
    slab_check(slab);
    class_remove(&heap->partial[class], slab);
    return slab;
}

static NOINLINE void *refill_slowly(struct heap *heap, unsigned class) {
    struct slab *slab = heap->current[class];
    if (slab) {
        do {
            void *first = slab_refill(slab);
            if (first) return refilled(heap, class, first);
        } while (!make_full(slab));
        heap->current[class] = NULL;
    }
    slab = next_slab(heap, class);
    if (!slab) return NULL;
    make_current(heap, slab);
    void *first = slab_refill(slab);
    invariant(first); /* a partial slab has an object in one of its lists */
    return refilled(heap, class, first);
}

void *heap_refill(struct heap *heap, unsigned class) {
    invariant(link_end(heap->local[class]));
    struct slab *slab = heap->current[class];
    if (slab) slab_check(slab);
    void *first = slab ? slab_refill_freed(slab) : NULL;
    return first ? refilled(heap, class, first) : refill_slowly(heap, class);
}
