/* heap_pool.c - keeps empty slabs up to a limit, gives them back, and fetches new ones. */
#include "frontend/heap_pool.h"

#include "backend/give_run.h"
#include "backend/slab_source.h"
#include "backend/thrift.h"
#include "config/options.h"
#include "config/policy.h"
#include "frontend/heap_table.h"
#include "frontend/slab_lists.h"
#include "platform/platform.h"

/* The slab ceases to be one: the caller holds its granule. */
static NOINLINE void clear_slab(struct slab *slab) {
    slab_clear_key(slab);
    slab_clear_links(slab);
}

static NOINLINE void place_cleared(struct slab *slab) {
    clear_slab(slab);
    slab_place(slab->class, record_id(slab), 1);
}

NOINLINE void heap_place_empty(struct heap *heap, unsigned count) {
    struct slab *slab;
    for (unsigned left = count; left > 0 && (slab = pool_pop(&heap->pool)); left--) place_cleared(slab);
}

/* Returns how many slabs the heap's pool may hold: the largest of a minimum, a share of the slabs in use, and an equal
 * part of what all pools may hold. The share is smaller while the program grows beyond its peak: then each slab that
 * the pool keeps costs another tier a new page. */
static uint32_t pool_limit(const struct heap *heap) {
    size_t percent = option(&options.pool_percent) / (thrift_is_at_peak() ? POOL_PART_AT_PEAK : 1);
    size_t limit = option(&options.pool_min), of_own = heap->in_use_count * percent / 100,
           of_all = (option(&options.pool_total) >> JW_GRANULE_SHIFT) / heap_count();
    if (limit < of_own) limit = of_own;
    return (uint32_t)(limit < of_all ? of_all : limit);
}

void heap_push_empty(struct heap *heap, struct slab *slab) {
    pool_push(&heap->pool, slab);
    if (heap->pool.count > pool_limit(heap)) heap_place_empty(heap, GIVE_AT_ONCE);
    else if (heap->pool.count % POOL_ROUND_FROM == 0) thrift_wake_for(heap->pool.count);
}

static void place_given(granule_id granule, bool given) {
    leaf_set(granule, leaf_held());
    range_place_known(granule, 1, given ? UNMAPPED : MAPPED);
}

void heap_place_pool(struct heap *heap, bool give_back) {
    struct give_run run;
    give_run_begin(&run, place_given);
    for (struct slab *slab = pool_take_all(&heap->pool), *next; slab; slab = next) {
        next = slab_by_id(&slab->freed.next);
        clear_slab(slab);
        if (give_back) give_run_add(&run, record_id(slab));
        else slab_place(slab->class, record_id(slab), 1);
    }
    give_run_end(&run);
}

wide_bool heap_pool_round(struct heap *heap, bool now) {
    if (pool_is_empty(&heap->pool)) return false;
    if (!pool_begin_period(&heap->pool) && !now) {
        thrift_may_hold(pool_count(&heap->pool));
        thrift_wake(); /* another round must come, to see the pool idle */
        return true;
    }
    /* in the hardened build each class's slabs have rounds of their own; a part of an OS page cannot go back alone */
    heap_place_pool(heap, !CLASSES_APART && platform_page_size() <= GRANULE_SIZE);
    return false;
}

struct slab *heap_pop_empty(struct heap *heap, unsigned class) {
    struct slab *slab = pool_pop(&heap->pool);
    for (unsigned left = GIVE_AT_ONCE; CLASSES_APART && slab && slab->class != class; left--) {
        place_cleared(slab);
        slab = left > 0 ? pool_pop(&heap->pool) : NULL;
    }
    if (!slab) return NULL;
    slab_set_origin(slab, slab->origin - ORIGIN_POISON);
    if (slab->class == class) return slab;
    if (slab->linked > 0) {
        slab_clear_links(slab);
        slab->linked = 0;
        slab->freed.first = LINK_END;
    }
    slab_set_class(slab, class);
    return slab;
}

/* Makes a held granule a slab of the class. */
static struct slab *make_slab(struct heap *heap, granule_id granule, unsigned class) {
    struct slab *slab = record_at(granule);
    slab_format(slab, granule_address(granule), class);
    relaxed_store(&slab->key, (uintptr_t)heap->key);
    leaf_set(granule, leaf_slab(heap->number));
    return slab;
}

static void push_new(struct heap *heap, struct slab *slab) {
    slab_set_state(slab, EMPTY);
    slab_set_origin(slab, slab->origin + ORIGIN_POISON);
    pool_push(&heap->pool, slab);
}

struct slab *heap_fetch_slab(struct heap *heap, unsigned class) {
    bool zeroed;
    uint32_t count = heap->in_use_count / FETCHED_PART;
    count = count < 1 ? 1 : count > FETCHED_MOST ? FETCHED_MOST : count;
    granule_id first = slab_fetch_granules(class, &count, &zeroed);
    if (!first) return NULL;
    heap->wants_slabs = false;
    while (--count > 0) push_new(heap, make_slab(heap, first + count, class));
    return make_slab(heap, first, class);
}

COLD void heap_scatter(struct heap *heap, unsigned count) {
    for (struct slab *slab; count > 0 && (slab = heap_fetch_slab(heap, 0)); count--) push_new(heap, slab);
}
