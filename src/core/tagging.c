/* tagging.c - the rule word, and the objects that have tags (tagging.h). */
#include "core/tagging.h"

#if TAGGED_ENTRIES

#include "config/options.h"
#include "frontend/slab.h"
#include "midend/midend.h"
#include "platform/tags.h"

/* 0 is the allocator's. Even numbers get 1, 3, ... 15; odd ones 2, 4, ... 14. */
#define EXCLUDED_OF_EVEN 0x5555u
#define EXCLUDED_OF_ODD 0xaaabu
#define ALL_EXCLUDED UINT32_MAX

_Atomic(uint64_t) tag_rules = TAGS_UNUSUAL | ALL_EXCLUDED;

void tag_rules_choose(void) {
    uint64_t rules = EXCLUDED_OF_ODD << 16 | EXCLUDED_OF_EVEN;
    if (!tags_active) rules = 0;
    else if (!tags_are_given()) rules = TAGS_UNUSUAL | ALL_EXCLUDED;
    else if (option_init() != INIT_NONE) rules |= TAGS_UNUSUAL;
    atomic_store_explicit(&tag_rules, rules, memory_order_relaxed);
}

static bool find_small(char *object, struct tagged_place *place) {
    const struct slab *slab = slab_of(object);
    if (slab_has_key(slab, 0) || !slab_has_start(object, slab)) return false;
    const struct size_class *shape = &size_classes[slab->class];
    place->size = shape->size;
    place->number = (uint32_t)tagged_number(object, shape);
    place->last = (uint8_t *)object + LAST_TAG_OF_SMALL;
    place->small = true;
    return place->size >= TAG_BYTES; /* the first one of all may be smaller, if tags were not known then */
}

bool tagged_place_find(const void *pointer, struct tagged_place *place) {
    char *object = place->object = with_tag(pointer, 0);
    if (find_small(object, place)) return true;
    unsigned class;
    uint32_t bit;
    if (!object || !page_map_owns(object) || !mid_slab_of(object, &class, &bit)) return false;
    place->size = mid_shapes[class].size;
    place->number = (uint32_t)__builtin_ctz(bit);
    place->last = (uint8_t *)object + LAST_TAG_OF_MID;
    place->small = false;
    return true;
}

uint8_t *tagged_last(const void *object) {
    struct tagged_place place;
    return tags_active && tagged_place_find(object, &place) ? place.last : NULL;
}

uintptr_t tagged_address(uintptr_t object) {
    struct tagged_place place;
    const void *pointer = (const void *)object; // NOLINT(performance-no-int-to-ptr)
    return tags_active && tagged_place_find(pointer, &place) ? (uintptr_t)tagged_as_memory(pointer) : object;
}

#endif
