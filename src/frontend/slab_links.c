/* slab_links.c - links that do not lead to a near object: verified before they are followed. */
#include "frontend/slab_links.h"

/* Whether the object `next` may follow an object of the slab in a list. It may if it is of the same slab. Where objects
 * are cached, it may also be of the same class and heap. */
static bool may_precede(const struct slab *slab, const void *next) {
    const struct slab *other = slab_of(next);
    if (other != slab && (STRICT_LINKS || other->class != slab->class || !slab_has_key(other, slab_key(slab))))
        return false;
    return slab_has_start(next, other);
}

bool slab_may_list(const void *object, const void *next) {
    if (next == LINK_END) return true;
    if (next == NULL) return false;
    const char *start = (const char *)next + link_is_end(next);
    if (link_is_end(next) && slab_of(start)->origin != (uintptr_t)next) return false;
    return may_precede(slab_of(object), start);
}

/* Whether a link of that distance may be a free object's. */
static bool may_lead(const void *object, uint64_t distance) {
    return (distance ^ link_base(object)) <= UINTPTR_MAX && slab_may_list(object, link_followed(object, distance));
}

/* Does not read the record that the link leads to, which may be another thread's. So the answer only raises the
 * question whether the object is free. */
COLD wide_bool slab_has_link(const void *object) {
    uint64_t distance = link_distance(object, slab_key(slab_of(object)));
    if (link_is_near(distance ^ link_base(object) ^ (uintptr_t)object, NEAR_SIZE)) return true;
    if ((distance ^ link_base(object)) > UINTPTR_MAX) return false;
    const char *next = link_followed(object, distance);
    bool origin = ((uintptr_t)next + 1) % GRANULE_SIZE == 0; /* one byte before its slab */
    return next == LINK_END || page_map_owns(next + origin);
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
