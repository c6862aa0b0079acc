#include "frontend/object_cache.h"

/* Objects of a local list that are not the current slab's, as far as there are no more than `most`. */
static unsigned cached_length(const struct heap *heap, unsigned class, unsigned most) {
    unsigned length = 0;
    for (const void *object = heap->local[class].first; !link_end(object) && length <= most;
         object = slab_next(object, heap->key))
        length += slab_of(object) != heap->current[class];
    return length;
}

bool heap_local_spent(struct heap *heap, struct slab *slab, void *object) {
    unsigned class = slab->class, most = size_classes[class].cached, length = 0;
    struct free_target *local = &heap->local[class];
    bool spent = heap->cache_spent >> class & 1;
    if (spent && slab_state(slab) == FULL) {
        local->budget = 1;
        free_target_set_budget(&slab->own, slab->own.budget - 1u); /* one of the frees until the slab is reopened */
        return false;
    }
    slab_fill(slab, object);
    free_target_push(local, object, heap->key);
    heap_maintain(heap);
    if (most > 0 && !spent) length = cached_length(heap, class, most / 2);
    if (length > most / 2) {
        heap_drain_cache(heap, class);
        heap->cache_spent |= 1u << class;
        spent = true;
    }
    local->budget = (uint16_t)(spent ? 1 : size_classes[class].budget - length);
    return true;
}

void heap_drain_cache(struct heap *heap, unsigned class) {
    void *object = heap->local[class].first;
    heap->local[class].first = LINK_END;
    for (void *next; !link_end(object); object = next) {
        struct slab *slab = slab_of(object);
        next = slab_next(object, heap->key);
        free_target_push(&slab->own, object, heap->key);
        free_target_set_budget(&slab->own, slab->own.budget - 1u);
        if (slab->own.budget == 0) heap_open_slab(heap, slab);
    }
}
