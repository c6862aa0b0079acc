/* slab_links.c - links that do not lead to a near object: verified before they are followed. */
#include "frontend/slab_links.h"

/* Whether a link of that distance may be a free object's. */
static bool may_lead(const void *object, uint64_t distance) {
    return (distance ^ link_base(object)) <= UINTPTR_MAX && slab_may_list(object, link_followed(object, distance));
}

/* Does not read the record that the link leads to, which may be another thread's. So the answer only raises the
 * question whether the object is free. */
COLD bool slab_has_link(const void *object) {
    uint64_t distance = link_distance(object, slab_key(slab_of(object)));
    if (link_is_near(distance ^ link_base(object) ^ (uintptr_t)object, ROOT_SIZE)) return true;
    if ((distance ^ link_base(object)) > UINTPTR_MAX) return false;
    const char *next = link_followed(object, distance);
    bool origin = ((uintptr_t)next + 1) % GRANULE_SIZE == 0;
    return next == LINK_END || origin || page_map_owns(next);
}

NOINLINE void *slab_next_far(const void *object, uint64_t distance) {
    if (JW_LINK_CHECK && UNLIKELY(!may_lead(object, distance))) misuse(WRITE_AFTER_FREE, object, 0);
    void *next = link_followed(object, distance);
    return link_is_end(next) ? LINK_END : next;
}

unsigned slab_list_length(const void *object) {
    unsigned length = 0;
    for (; !link_is_end(object); object = slab_next(object, slab_key(slab_of(object)))) length++;
    return length;
}
