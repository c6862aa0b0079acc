/* slab.h - a frontend slab: one granule of equal objects behind a header, owned by one heap for as long as it is a
 * slab.
 *
 * The owner allocates from the local list of its current slab, which stands in the heap, and frees to the freed list,
 * which becomes the local one when that is empty; other threads push to the cross list. So malloc counts nothing and
 * reads no header: `out` is what is given out, or waits in the local or the cross list, and only frees change it. The
 * owner counts down `budget` on each of its frees, so that one test finds both events that need attention:
 *
 *   state       in which list of its heap    budget                       budget reaches 0
 *   CURRENT     the class's current one      out + 1 (pinned)             never
 *   PARTIAL     partial                      out                          the slab is empty
 *   EMPTY       pool                         0; bound 0: any free is misuse
 *   FULL        none; cross list marked      1; hidden = out - 1          an own object came back: PARTIAL
 *   RETURNING   none; on its way to the      out + 1 (pinned)             never
 *               owner's "returned" stack
 *
 * Invariant: out + length of freed list + not yet carved = capacity; only CURRENT slabs have a local list.
 *
 * The first cache line is the owner's; the second holds what other threads need to free an object.
 */
#ifndef JW_SLAB_H
#define JW_SLAB_H

#include "base/fill.h"
#include "config/size_classes.h"
#include "frontend/cross_list.h"
#include "secure/header.h"

enum slab_state { CURRENT, PARTIAL, EMPTY, FULL, RETURNING };

struct heap;

struct slab {
#if JW_SECURE
    uint64_t word; /* secure/header.h */
#endif
    void *freed; /* first object that the owner has freed; an address with offset 0 ends the list */
    uint32_t budget;
    uint32_t origin;     /* low bits of the first object's address, less 1 */
    uint32_t reciprocal; /* of the object size (size_classes.h) */
    uint32_t bound;      /* of what an object's address gives (size_class_bound); 0 while EMPTY */
    uint32_t hidden;
    uint16_t carved; /* objects that were put into a list so far */
    uint8_t class, state;
    struct slab *next, *previous; /* in its class's partial list; next: in the heap's returned stack or pool, too */
    struct slab *all_next;        /* in the heap's in-use list, as all_previous */

    _Alignas(64) cross_list cross;
    uint32_t cross_origin, cross_reciprocal, cross_bound;
    struct heap *heap;
    struct slab *all_previous;
};

_Static_assert(sizeof(struct slab) <= 128 && offsetof(struct slab, all_previous) + sizeof(void *) <= SLAB_HEADER_SIZE,
               "the header ends before the first object");

static ALWAYS_INLINE struct slab *slab_of(const void *object) {
    return (struct slab *)((uintptr_t)object & ~(uintptr_t)(GRANULE_SIZE - 1));
}

/* Whether an address is where an object begins: size_class_bound says why. False as well, but for one in a million, for
 * a foreign address that shares a slab's place in the window. */
static ALWAYS_INLINE bool slab_has_start(const void *object, uint32_t origin, uint32_t reciprocal, uint32_t bound) {
    return ((uint32_t)(uintptr_t)object - origin - 1) * reciprocal < bound;
}

/* An object's distance from the origin, and 1 less where its first word may be a link. GCC does not find the
 * subtraction with borrow for x86-64 by itself. */
static ALWAYS_INLINE uint32_t slab_distance(const void *object, const uint32_t *origin) {
    uint32_t distance = (uint32_t)(uintptr_t)object;
#if defined __x86_64__ && !JW_CHECKED
    __asm__("cmpl %[mark], %[word]\n\tsbbl %[origin], %[distance]"
            : [distance] "+r"(distance)
            : [origin] "m"(*origin), [word] "m"(*link_upper_half(object)), [mark] "i"(LINK_MARK)
            : "cc");
#else
    uint32_t unused;
    distance = distance - __builtin_sub_overflow(*link_upper_half(object), LINK_MARK, &unused) - *origin;
#endif
    return distance;
}

/* The same of an object in use: what may be a link puts the address off by one, so that no branch is needed to see a
 * double free. False as well where a program has written what looks like a link. */
static ALWAYS_INLINE bool slab_has_object(const void *object, const uint32_t *origin, uint32_t reciprocal,
                                          uint32_t bound) {
    return slab_distance(object, origin) * reciprocal < bound;
}

/* Whether an object in use begins there, told for certain where slab_has_object is in doubt. */
bool slab_has_doubtful_object(const void *object);

/* Hardened build: whether what others write beside the slab has reached its header. Before that is used. */
static ALWAYS_INLINE void slab_check(const struct slab *slab) {
#if JW_SECURE
    header_check(slab, slab->word);
#else
    (void)slab;
#endif
}

/* Whether a link may lead there from a free object: to another one of its slab, or to an end. */
static inline bool slab_may_list(const void *object, const void *next) {
    const struct slab *slab = slab_of(object);
    if (link_end(next)) return !next || next == slab;
    return slab_of(next) == slab &&
           slab_has_start(next, slab->cross_origin, slab->cross_reciprocal, size_class_bound(slab->class));
}

/* The object behind a free one. Hardened build: what leads elsewhere is no link. */
static ALWAYS_INLINE void *slab_next(const void *object, uint64_t key) {
    void *next = link_next(object, key);
    if (JW_SECURE && UNLIKELY(!slab_may_list(object, next))) misuse(WRITE_AFTER_FREE, object, 0);
    return next;
}

/* Objects given out, or waiting in the local or the cross list. */
static inline unsigned slab_out(const struct slab *slab) {
    switch ((enum slab_state)slab->state) {
    case PARTIAL: return slab->budget;
    case FULL: return slab->budget + slab->hidden;
    case EMPTY: return 0;
    default: return slab->budget - 1;
    }
}

static inline unsigned slab_list_length(const void *object) {
    unsigned length = 0;
    for (; !link_end(object); object = link_next(object, map.key)) length++;
    return length;
}

static ALWAYS_INLINE void slab_fill(const struct slab *slab, void *object) {
    if (JW_FILL) fill_write(object, sizeof(link_word), size_classes[slab->class].size);
}

/* Whether a free object is as it was left (checked builds). */
static ALWAYS_INLINE void slab_check_fill(const void *object) {
    if (!JW_FILL) return;
    const struct slab *slab = slab_of(object);
    const void *next = link_next(object, map.key);
    bool within = link_end(next) || slab_has_start(next, slab->origin, slab->reciprocal, slab->bound);
    if (!link_is(object) || !within) misuse(WRITE_AFTER_FREE, object, 0);
    fill_check(object, sizeof(link_word), size_classes[slab->class].size);
}

/* Makes a fresh slab of a granule whose header may hold anything. Its state is left to the caller. */
void slab_format(struct slab *slab, struct heap *heap, unsigned class);

/* A new local list for a CURRENT slab: the freed list. NULL when it is empty. */
static ALWAYS_INLINE void *slab_refill_freed(struct slab *slab) {
    void *first = slab->freed;
    if (link_end(first)) return NULL;
    slab->freed = NULL;
    slab->budget = slab->carved + 1u;
    return first;
}

/* The same of the cross list, or of objects never given out. */
void *slab_refill_slowly(struct slab *slab);

/* The same of all three: NULL when all objects are in use. */
static inline void *slab_refill(struct slab *slab) {
    void *first = slab_refill_freed(slab);
    return first ? first : slab_refill_slowly(slab);
}

/* Moves a list of the slab's objects to the freed list. Walks it. */
void slab_put_back(struct slab *slab, void *first);

/* The same with all of the cross list. */
void slab_collect(struct slab *slab);

#endif
