/* slab_lists.c - how a slab begins, how its objects are linked, and how its lists move. */
#include "frontend/slab_lists.h"

#include "backend/hardened_hooks.h"
#include "base/mixed.h"
#include "frontend/slab_free.h"
#include "frontend/slab_links.h"
#include "platform/assert.h"
#include "platform/misuse.h"
#include "platform/random.h"

enum { MOST_SHUFFLED = LINKED_BYTES / SMALLEST_OBJECT + 1 }; /* the largest batch of any class (size_classes.c) */

_Static_assert(MOST_SHUFFLED - 1 <= UINT16_MAX >> 4, "an object's place in a batch fits in 16 bits, evenly enough");

uint64_t slab_scatter_secret;

void slab_set_class(struct slab *slab, unsigned size_class) {
    relaxed_store(&slab->reciprocal, size_classes[size_class].reciprocal);
    relaxed_store(&slab->last, size_class_last(size_class));
    relaxed_store(&slab->class, (uint8_t)size_class); /* a round may look */
}

void slab_format(struct slab *slab, const char *start, unsigned size_class) {
    slab->freed.first = LINK_END;
    free_target_set_budget(&slab->freed, 0);
    slab->target = &slab->freed;
    slab_set_origin(slab, (uintptr_t)start - 1);
    slab_set_class(slab, size_class);
    slab->linked = 0;
    slab->marked = true;
    cross_format(&slab->cross);
}

void slab_clear_links(const struct slab *slab) {
    const size_t size = size_classes[slab->class].size; /* read once: a link may alias the record */
    char *object = granule_address(record_id(slab));
    for (unsigned left = slab->linked; left > 0; left--, object += size) link_clear(object);
}

/* Returns a random number below `limit`, which counts up from 1. A random word of the hardened build is enough for
 * four numbers. */
static uint32_t next_below(uint64_t *state, uint32_t limit) {
    if (RANDOM_ORDER) {
        *state = limit % 4 == 1 ? random_word() : *state >> 16;
        return (uint16_t)*state * limit >> 16;
    }
    *state = mixed(*state + 0x9e3779b97f4a7c15u);
    return (uint32_t)((*state >> 32) * limit >> 32);
}

/* Links the objects in random order: in the hardened build, and in the child of a fork. Returns the first object. */
static void *link_shuffled(char *first, unsigned count, unsigned size, uint64_t key) {
    uint16_t order[MOST_SHUFFLED];
    uint64_t state = mixed(slab_scatter_secret ^ (uintptr_t)first);
    void *next = LINK_END;
    for (unsigned i = 0; i < count; i++) {
        unsigned other = next_below(&state, i + 1);
        order[i] = (uint16_t)i; /* `other` may be i */
        order[i] = order[other];
        order[other] = (uint16_t)i;
    }
    if (JW_SECURE) hardened_hooks.objects_are_new(first, count, size);
    for (unsigned i = 0; i < count; i++) {
        char *object = first + (size_t)order[i] * size;
        link_write(object, next, key);
        next = object;
    }
    return next;
}

void *slab_link_batch(struct slab *slab) {
    const struct size_class *shape = &size_classes[slab->class];
    unsigned left = (unsigned)shape->capacity - slab->linked, batch = left < shape->batch ? left : shape->batch;
    if (left == 0) return NULL;
    const bool shuffled = RANDOM_ORDER || UNLIKELY(slab_scatter_secret);
    if (batch > LINKED_OBJECTS && !shuffled) batch = LINKED_OBJECTS; /* few places make an order that can be guessed */
    char *first = slab_origin(slab) + 1 + (size_t)slab->linked * shape->size;
    char *last = first + (size_t)(batch - 1) * shape->size;
    if (JW_FILL)
        for (char *object = first; object <= last; object += shape->size) slab_fill(slab, object);
    slab->linked = (slab->linked + batch) & INT16_MAX;
    free_target_set_budget(&slab->freed, slab->freed.budget + batch);
    const uint64_t key = slab_key(slab);
    if (shuffled) return link_shuffled(first, batch, shape->size, key);
    const size_t size = shape->size; /* read once: a link may alias it */
    for (char *object = first, *next; object < last; object = next) {
        next = object + size;
        link_write(object, next, key);
    }
    link_write(last, LINK_END, key);
    return first;
}

void *slab_refill_slowly(struct slab *slab) {
    unsigned count;
    void *first = cross_drain(&slab->cross, slab_origin(slab), &count);
    return count > 0 ? first : slab_link_batch(slab);
}

void slab_move_to_freed(struct slab *slab, void *first) {
    if (link_is_end(slab->freed.first)) {
        slab->freed.first = first;
        return;
    }
    const uint64_t key = slab_key(slab);
    void *last = first, *next;
    for (unsigned left = slab->linked; !link_is_end(next = slab_next(last, key)); last = next)
        if (left-- == 0) misuse(DOUBLE_FREE, last, 0); /* two threads have freed an object at the same moment */
    link_write(last, slab->freed.first, key);
    slab->freed.first = first;
}

void slab_drain_cross(struct slab *slab) {
    unsigned count;
    void *first = cross_drain(&slab->cross, slab_origin(slab), &count);
    if (count == 0) return;
    slab_move_to_freed(slab, first);
    free_target_set_budget(&slab->freed, slab->freed.budget - count);
}

unsigned slab_out(const struct slab *slab) {
    switch (slab_state(slab)) {
    case PARTIAL: return slab->freed.budget;
    case FULL:
    case WANTED: return slab_out_of_full(slab);
    case EMPTY: return 0;
    default: return slab->freed.budget - 1u;
    }
}
