#include "frontend/loose.h"

void heap_look_at_loose(struct heap *heap, unsigned class) {
    unsigned most = size_classes[class].loose, length = 0;
    heap_look_around(heap);
    for (void *object = heap->local[class]; !link_end(object) && length <= most / 2; length++)
        object = slab_next(object, map.key);
    if (length > most / 2) heap_put_loose_back(heap, class);
    else heap->loose_left[class] = (uint8_t)(most - length);
}

void heap_put_loose_back(struct heap *heap, unsigned class) {
    void *object = heap->local[class];
    heap->local[class] = LINK_END;
    for (void *next; !link_end(object); object = next) {
        struct slab *slab = slab_of(object);
        next = slab_next(object, map.key);
        slab_list_freed(slab, object);
        if (--slab->budget == 0) heap_open_slab(heap, slab);
    }
}
