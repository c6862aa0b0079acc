#include "frontend/slab.h"

#include "base/assert.h"
#include "secure/trailer.h"

enum { MOST_SHUFFLED = 4096 / 8 + 1 }; /* the largest batch of any class */

void slab_format(struct slab *slab, struct heap *heap, unsigned class) {
    const struct size_class *shape = &size_classes[class];
#if JW_SECURE
    slab->word = header_word(slab);
#endif
    slab->freed = NULL;
    slab->budget = slab->hidden = 0;
    slab->origin = slab->cross_origin = (uint32_t)(uintptr_t)slab + shape->origin - 1;
    slab->reciprocal = slab->cross_reciprocal = shape->reciprocal;
    slab->bound = slab->cross_bound = size_class_bound(class);
    slab->carved = 0;
    slab->class = (uint8_t) class;
    slab->heap = heap;
    atomic_store_explicit(&slab->cross, 0, memory_order_relaxed);
}

bool slab_has_doubtful_object(const void *object) {
    const struct slab *slab = slab_of(object);
    return slab_has_start(object, slab->cross_origin, slab->cross_reciprocal, slab->cross_bound) && !link_is(object);
}

/* Hardened build: links the objects in random order, each with the trailer of a free one. The first. */
static void *shuffle(char *first, unsigned count, unsigned size) {
    uint16_t order[MOST_SHUFFLED];
    void *next = NULL;
    for (unsigned i = 0; i < count; i++) {
        unsigned other = random_less(i + 1);
        order[i] = order[other];
        order[other] = (uint16_t)i;
    }
    for (unsigned i = 0; i < count; i++) {
        char *object = first + (size_t)order[i] * size;
        atomic_store_explicit(trailer_of(object, size), trailer_made(trailer_pad(object), 0, FREED),
                              memory_order_relaxed);
        link_write(object, next);
        next = object;
    }
    return next;
}

/* A list of objects never given out: no more than a page of them at a time. */
static void *carve(struct slab *slab) {
    const struct size_class *shape = &size_classes[slab->class];
    unsigned left = (unsigned)shape->capacity - slab->carved, batch = left < shape->batch ? left : shape->batch;
    if (left == 0) return NULL;
    char *first = (char *)slab + shape->origin + (size_t)slab->carved * shape->size;
    char *last = first + (size_t)(batch - 1) * shape->size;
    for (char *object = first; JW_FILL && object <= last; object += shape->size) slab_fill(slab, object);
    slab->carved = (uint16_t)(slab->carved + batch);
    slab->budget += batch;
    if (JW_SECURE) return shuffle(first, batch, shape->size);
    for (char *object = first; object < last; object += shape->size) link_write(object, object + shape->size);
    link_write(last, NULL);
    return first;
}

void *slab_refill_slowly(struct slab *slab) {
    unsigned count;
    void *first = cross_drain(&slab->cross, (char *)slab, &count);
    return count > 0 ? first : carve(slab);
}

void slab_put_back(struct slab *slab, void *first) {
    void *last = first, *next;
    while (!link_end(next = slab_next(last, map.key))) last = next;
    link_write(last, slab->freed);
    slab->freed = first;
}

void slab_collect(struct slab *slab) {
    unsigned count;
    void *first = cross_drain(&slab->cross, (char *)slab, &count);
    if (count == 0) return;
    slab_put_back(slab, first);
    slab->budget -= count;
}
