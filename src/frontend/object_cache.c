/* object_cache.c - the budget of a local list, and how cached objects go back to their slabs. */
#include "frontend/object_cache.h"

#include "config/policy.h"
#include "frontend/heap_reopened.h"
#include "frontend/heap_slabs.h"
#include "frontend/slab_free.h"
#include "frontend/slab_links.h"

/* Gives the objects behind `last` in the class's local list back to their slabs. NULL: all. Returns how many. */
static unsigned drain_behind(struct heap *heap, unsigned class, void *last) {
    void *object = last ? slab_next(last, heap->key) : heap->local[class].first;
    unsigned drained = 0;
    if (last) link_write(last, LINK_END, heap->key);
    else heap->local[class].first = LINK_END;
    for (void *next; !link_is_end(object); object = next, drained++) {
        struct slab *slab = slab_of(object);
        next = slab_next(object, heap->key);
        free_target_push(&slab->freed, object, heap->key);
        free_target_set_budget(&slab->freed, slab->freed.budget - 1u);
        if (slab->freed.budget > 0) continue;
        heap_open_slab(heap, slab);
        heap_take_if_reopening(heap, slab);
    }
    return drained;
}

_Static_assert(JW_OBJECT_CACHE_ENTRIES / OBJECT_CACHE_KEPT_PART > 0 || JW_OBJECT_CACHE_ENTRIES == 0,
               "a cached object is kept, and the others are behind it");

/* The object of a local list behind which are the cached objects that are too many. *cached: cached objects up to
 * there; the current slab's do not count. NULL: there are at most `most` cached objects. */
static void *last_to_keep(const struct heap *heap, unsigned class, unsigned most, unsigned *cached) {
    const struct slab *current = heap->current[class];
    const uint64_t key = heap->key;
    void *last = NULL;
    for (void *object = heap->local[class].first; !link_is_end(object); object = slab_next(object, key)) {
        bool counts = slab_of(object) != current;
        if (counts && *cached == most) return last;
        *cached += counts;
        last = object;
    }
    return NULL;
}

/* Gives cached objects back if the cache is more than half full. Returns how many stay. */
static unsigned object_cache_halve(struct heap *heap, unsigned class, unsigned room) {
    const unsigned half = room / OBJECT_CACHE_KEPT_PART;
    unsigned cached = 0;
    bool halved = heap->cache_states & cache_halved(class);
    void *last = last_to_keep(heap, class, half, &cached);
    if (!last) {
        object_cache_open(heap, class);
    } else if (drain_behind(heap, class, last) + 1 >= room - half && halved) {
        object_cache_drain(heap, class);
        heap->cache_states |= cache_closed(class);
    } else {
        heap->cache_states |= cache_halved(class);
    }
    return cached;
}

void object_cache_renew_budget(struct heap *heap, unsigned class) {
    const unsigned room = heap->budget[class];
    const bool caches = size_classes[class].cache_room > 0;
    unsigned cached = caches && !object_cache_is_closed(heap, class) ? object_cache_halve(heap, class, room) : 0;
    heap->local[class].budget = (uint16_t)(object_cache_is_closed(heap, class) ? 1 : room - cached);
}

void object_cache_refuse(struct heap *heap, struct slab *slab) {
    heap->local[slab->class].budget = 1;
    free_target_set_budget(&slab->freed, slab->freed.budget - 1u);
}

void object_cache_drain(struct heap *heap, unsigned class) {
    drain_behind(heap, class, NULL);
}
