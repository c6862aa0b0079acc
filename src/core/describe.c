/* describe.c - looks up an address in all tiers (describe.h). Other threads go on meanwhile, so the code relies only on
 * the bounds of the tables. */
#include "core/describe.h"

#include "backend/hardened_hooks.h"
#include "backend/huge.h"
#include "backend/knit.h"
#include "backend/large_object.h"
#include "core/sealed.h"
#include "frontend/heap.h"
#include "frontend/heap_table.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_links.h"
#include "midend/midend.h"

static COLD void describe_small(const void *object, struct found *found) {
    const struct slab *slab = slab_of(object);
    const struct size_class *shape = &size_classes[slab->class % SIZE_CLASS_COUNT];
    unsigned offset = (unsigned)((uintptr_t)object & (GRANULE_SIZE - 1));
    found->tier = TIER_SMALL;
    found->size = shape->size;
    uint32_t thread = atomic_load_explicit(&heap_of(slab)->thread, memory_order_relaxed);
    found->owner = thread ? thread : OWNER_ENDED;
    if (offset >= (unsigned)shape->capacity * shape->size) found->state = FOUND_BETWEEN;
    else if (offset % shape->size) found->state = FOUND_INSIDE;
    else
        found->state =
            slab_state(slab) == EMPTY || slab_is_taken(slab) || slab_has_link(object) ? FOUND_FREE : FOUND_IN_USE;
}

static COLD void describe_large(const void *object, granule_id range, struct found *found) {
    uint32_t offset = leaf_offset(leaf_get(range));
    found->tier = TIER_LARGE;
    found->size = large_bytes_in(knit_weight(range) - offset);
    found->state = object == granule_address(range) + offset * GRANULE_SIZE ? FOUND_IN_USE : FOUND_INSIDE;
}

/* Describes an address in a free range. A large object that began there may have left its size. */
static COLD void describe_trace(const void *object, struct found *found) {
    granule_id id = granule_of(object);
    uint32_t granules = leaf_traced_here(leaf_get(id));
    if (!granules && (id + 1) % ROOT_GRANULES) granules = leaf_traced_before(leaf_get(id + 1));
    found->state = FOUND_FREE_MEMORY;
    if (!granules || object != granule_address(id)) return;
    found->tier = TIER_LARGE;
    found->state = FOUND_FREE;
    found->size = (size_t)granules << JW_GRANULE_SHIFT;
}

/* Describes an address outside the roots. Of an unmapped object only the first address is recognized: another mapping
 * may have the rest by now. */
static COLD void describe_huge(const void *address, struct found *found) {
    size_t size = 0;
    char *start = huge_around(address, false, &size);
    if (start) found->state = address == start ? FOUND_IN_USE : FOUND_INSIDE;
    else if ((start = huge_around(address, true, &size))) found->state = address == start ? FOUND_FREE : FOUND_GONE;
    if (!start || found->state == FOUND_GONE) return;
    found->tier = TIER_HUGE;
    found->size = size;
}

static COLD void describe_in_root(const void *object, struct found *found) {
    granule_id id = granule_of(object);
    /* to the first granule of the range */
    while (leaf_kind(leaf_get(id)) == NONE && id % ROOT_GRANULES) id--;
    id = granule_start(id);
    struct leaf_word leaf = leaf_get(id);
    if (leaf_is_slab(leaf)) describe_small(object, found);
    else if (leaf_kind(leaf) == MID) midend_describe(object, found);
    else if (leaf_kind(leaf) == LARGE) describe_large(object, id, found);
    else describe_trace(object, found);
}

COLD void describe(const void *address, struct found *found) {
    uintptr_t word = slot_word(address);
    *found = (struct found){.tier = TIER_NONE, .state = FOUND_FOREIGN, .owner = OWNER_NONE};
    if (page_map_owns(address)) describe_in_root(address, found);
    else describe_huge(address, found);
    if (found->state == FOUND_FOREIGN && slot_has_sealed(word, address)) sealed_describe(address, found);
    /* the tiers count quarantined objects as in use */
    if (JW_SECURE && found->state == FOUND_IN_USE && hardened_hooks.object_waits(address, found->size))
        found->state = FOUND_FREE;
    if (found->state == FOUND_FOREIGN && slot_is_gone(word, address)) found->state = FOUND_GONE;
}
