#include "frontend/loose.h"

bool heap_loosen(struct heap *heap, struct slab *slab, void *object) {
    unsigned class = slab->class, most = size_classes[class].loose, length = 0;
    struct sink *local = &heap->local[class];
    if (heap->loose_spent >> class & 1) {
        local->budget = 1;
        return false;
    }
    slab_fill(slab, object);
    sink_push(local, object, heap->key);
    heap_look_around(heap);
    for (void *next = local->first; !link_end(next) && length <= most / 2; length++) next = slab_next(next, heap->key);
    if (length > most / 2) {
        heap_put_loose_back(heap, class);
        heap->loose_spent |= 1u << class;
    }
    local->budget = (uint16_t)(length > most / 2 ? 1 : most - length);
    return true;
}

void heap_put_loose_back(struct heap *heap, unsigned class) {
    void *object = heap->local[class].first;
    heap->local[class].first = LINK_END;
    for (void *next; !link_end(object); object = next) {
        struct slab *slab = slab_of(object);
        next = slab_next(object, heap->key);
        sink_push(&slab->own, object, heap->key);
        if (--slab->own.budget == 0) heap_open_slab(heap, slab);
    }
}
