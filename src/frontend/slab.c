#include "frontend/slab.h"

#include "base/assert.h"
#include "secure/trailer.h"

enum { MOST_SHUFFLED = 4096 / 8 + 1 }; /* the largest batch of any class */

void slab_format(struct slab *slab, const char *start, unsigned class) {
    slab->own.first = LINK_END;
    slab->own.budget = 0;
    slab->sink = &slab->own;
    slab->origin = (uintptr_t)start - 1;
    slab->reciprocal = size_classes[class].reciprocal;
    slab->last = size_class_last(class);
    slab->carved = 0;
    slab->class = (uint8_t) class;
    slab->marked = true;
    atomic_store_explicit(&slab->cross, CROSS_FULL, memory_order_relaxed);
}

COLD bool slab_has_link(const void *object) {
    uint64_t key = slab_key(slab_of(object)), next = *(const link_word *)object ^ link_key_at(object, key);
    if (((next + 1) ^ (uintptr_t)object) < GRANULE_SIZE) return true;
    return next <= UINTPTR_MAX && slab_may_list(object, link_next(object, key));
}

COLD bool slab_has_doubtful_object(const void *object) {
    const struct slab *slab = slab_of(object);
    return slab_has_start(object, slab) && !slab_has_link(object);
}

/* Hardened build: links the objects in random order, each with the trailer of a free one. The first. */
static void *shuffle(char *first, unsigned count, unsigned size, uint64_t key) {
    uint16_t order[MOST_SHUFFLED];
    void *next = LINK_END;
    for (unsigned i = 0; i < count; i++) {
        unsigned other = random_less(i + 1);
        order[i] = order[other];
        order[other] = (uint16_t)i;
    }
    for (unsigned i = 0; i < count; i++) {
        char *object = first + (size_t)order[i] * size;
        atomic_store_explicit(trailer_of(object, size), trailer_made(trailer_pad(object), 0, FREED),
                              memory_order_relaxed);
        link_write(object, next, key);
        next = object;
    }
    return next;
}

/* A list of objects never given out: no more than a page of them at a time. */
static void *carve(struct slab *slab) {
    const struct size_class *shape = &size_classes[slab->class];
    unsigned left = (unsigned)shape->capacity - slab->carved, batch = left < shape->batch ? left : shape->batch;
    if (left == 0) return NULL;
    char *first = slab_origin(slab) + 1 + (size_t)slab->carved * shape->size;
    char *last = first + (size_t)(batch - 1) * shape->size;
    if (JW_FILL)
        for (char *object = first; object <= last; object += shape->size) slab_fill(slab, object);
    slab->carved = (uint16_t)(slab->carved + batch);
    slab->own.budget = (uint16_t)(slab->own.budget + batch);
    const uint64_t key = slab_key(slab);
    if (JW_SECURE) return shuffle(first, batch, shape->size, key);
    for (char *object = first; object < last; object += shape->size) link_write(object, object + shape->size, key);
    link_write(last, LINK_END, key);
    return first;
}

void *slab_refill_slowly(struct slab *slab) {
    unsigned count;
    void *first = cross_drain(&slab->cross, slab_origin(slab), &count);
    return count > 0 ? first : carve(slab);
}

void slab_put_back(struct slab *slab, void *first) {
    if (link_end(slab->own.first)) {
        slab->own.first = first;
        return;
    }
    const uint64_t key = slab_key(slab);
    void *last = first, *next;
    while (!link_end(next = slab_next(last, key))) last = next;
    link_write(last, slab->own.first, key);
    slab->own.first = first;
}

void slab_collect(struct slab *slab) {
    unsigned count;
    void *first = cross_drain(&slab->cross, slab_origin(slab), &count);
    if (count == 0) return;
    slab_put_back(slab, first);
    slab->own.budget = (uint16_t)(slab->own.budget - count);
}
