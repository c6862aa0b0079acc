/* object_cache.c - the budget of a local list, and how cached objects go back to their slabs. */
#include "frontend/object_cache.h"

#include "config/policy.h"
#include "frontend/heap_slabs.h"
#include "frontend/slab_free.h"
#include "frontend/slab_links.h"

/* Counts the objects of a local list that are not the current slab's. Stops when the count is above `most`. */
static unsigned cached_length(const struct heap *heap, unsigned class, unsigned most) {
    unsigned length = 0;
    for (const void *object = heap->local[class].first; !link_is_end(object) && length <= most;
         object = slab_next(object, heap->key))
        length += slab_of(object) != heap->current[class];
    return length;
}

static bool is_spent(const struct heap *heap, unsigned class) {
    return heap->cache_spent >> class & 1;
}

void object_cache_renew_budget(struct heap *heap, unsigned class) {
    unsigned most = size_classes[class].cache_room > 0 ? heap->budget[class] : 0, length = 0;
    if (most > 0 && !is_spent(heap, class)) length = cached_length(heap, class, most / OBJECT_CACHE_USED_PART);
    if (length > most / OBJECT_CACHE_USED_PART) {
        object_cache_drain(heap, class);
        heap->cache_spent |= 1u << class;
    }
    heap->local[class].budget = (uint16_t)(is_spent(heap, class) ? 1 : heap->budget[class] - length);
}

void object_cache_refuse(struct heap *heap, struct slab *slab) {
    heap->local[slab->class].budget = 1;
    free_target_set_budget(&slab->freed, slab->freed.budget - 1u);
}

void object_cache_drain(struct heap *heap, unsigned class) {
    void *object = heap->local[class].first;
    heap->local[class].first = LINK_END;
    for (void *next; !link_is_end(object); object = next) {
        struct slab *slab = slab_of(object);
        next = slab_next(object, heap->key);
        free_target_push(&slab->freed, object, heap->key);
        free_target_set_budget(&slab->freed, slab->freed.budget - 1u);
        if (slab->freed.budget == 0) heap_open_slab(heap, slab);
    }
}
