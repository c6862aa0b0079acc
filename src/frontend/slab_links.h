/* slab_links.h - follows the links of small free objects (sync/free_link.h), and verifies where they lead.
 *
 *   link leads to           is followed
 *   near, within a block    at once: a program that forges it must know 21 bits of the key. Hardened build: only to
 *                           where an object begins
 *   anywhere else           only if slab_next_far finds an end there (LINK_END, a slab's origin), an object of the slab
 *                           or, where objects are cached, one of the same class and heap. Else: a write after free
 */
#ifndef JW_SLAB_LINKS_H
#define JW_SLAB_LINKS_H

#include "frontend/slab.h"
#include "platform/fill.h"
#include "platform/misuse.h"

/* Whether a link may lead there from a free object: to another object or to an end. The end may be the origin of the
 * class's current slab. */
bool slab_may_list(const void *object, const void *next);

/* Whether the object's first word is a link: to an object of its root, to an end, or to any address of a root. If the
 * object is in use, a program may have written that word (suspect.h). */
wide_bool slab_has_link(const void *object);

/* The object behind a free object whose link is not near; LINK_END: none. Aborts if the link leads anywhere else: the
 * program has written it. */
void *slab_next_far(const void *object, uint64_t distance);

/* Inline: it is on the hit paths. The object behind a free one, or LINK_END. The hardened build also verifies near
 * links. */
static ALWAYS_INLINE void *slab_next(const void *object, uint64_t key) {
    uint64_t distance = link_distance(object, key);
    void *next = link_followed(object, distance);
    bool near = JW_LINK_CHECK && link_is_near(distance, STRICT_LINKS ? GRANULE_SIZE : NEAR_SIZE);
    if (UNLIKELY(!near || (STRICT_LINKS && !slab_has_start(next, slab_of(object)))))
        return slab_next_far(object, distance);
    return next;
}

/* Checked builds: verifies that nothing has written to a free object. */
static ALWAYS_INLINE void slab_check_fill(const void *object) {
    if (!JW_FILL) return;
    if (!slab_may_list(object, link_next(object, slab_key(slab_of(object))))) misuse(WRITE_AFTER_FREE, object, 0);
    fill_check(object, sizeof(link_word), size_classes[slab_of(object)->class].size);
}

/* The number of objects of a list. */
unsigned slab_list_length(const void *object);

#endif
