/* entry.c - the hardened build's malloc and free: seals new objects, checks and closes freed ones (entry.h). */
#include "hardened/entry.h"

#include <string.h>

#include "backend/huge.h"
#include "base/misuse.h"
#include "config/options.h"
#include "core/route.h"
#include "hardened/large.h"
#include "hardened/quarantine.h"
#include "hardened/retag.h"
#include "hardened/trailer.h"
#include "hardened/zero_size.h"
#include "platform/tags.h"

/* Size of a slot for `size` bytes; a size that is too large stays too large. */
static ALWAYS_INLINE size_t slot_for(size_t size) {
    return size < SIZE_MAX - (size_t)2 * TRAILER_SIZE ? size + TRAILER_SIZE + (size == 0) : SIZE_MAX;
}

/* The trailer, by a pointer with the memory's tag: the trailer can share a tag with the object's last bytes. */
static ALWAYS_INLINE trailer_word *trailer_at(const char *object, size_t slot) {
    trailer_word *trailer = trailer_of(object, slot);
    return tags_active ? (trailer_word *)with_tag(trailer, tag_of_memory(trailer)) : trailer;
}

static ALWAYS_INLINE uint64_t trailer_word_of(const char *object, size_t slot) {
    return atomic_load_explicit(trailer_at(object, slot), memory_order_relaxed);
}

static ALWAYS_INLINE uint32_t slack_in(uint32_t payload, size_t slot) {
    return payload >> slack_shift(slot);
}

/* Writes fill, trailer and tag of an object of `size` bytes in its slot. `place`: what trailers of the address have in
 * common. `marks`: tag and guard of the payload. */
static ALWAYS_INLINE void *seal(char *object, size_t slot, struct trailer place, size_t size, uint32_t marks) {
    size_t slack = slot - TRAILER_SIZE - size;
    if (UNLIKELY(slack > SLACK_MOST)) { /* a huge object whose tail the OS refused: the tail counts as in use */
        slack = SLACK_MOST;
        size = slot - TRAILER_SIZE - slack;
    }
    slack_fill(object + size, slack, place.canary);
    place.payload = (uint32_t)slack << slack_shift(slot) | marks;
    atomic_store_explicit(trailer_of(object, slot), trailer_made(place, LIVE), memory_order_relaxed);
    if (!tags_active || slot >= BACKEND_MIN) return object;
    unsigned tag = marks >> PAYLOAD_TAG_SHIFT & TAG_MASK;
    tag_memory(object, size ? size : 1, tag);
    return with_tag(object, tag);
}

/* A new object's tag, in its payload. The slot's last one is in the payload of its last trailer. */
static ALWAYS_INLINE uint32_t new_tag(const char *object, size_t slot, uint32_t last) {
    if (!tags_active || slot >= BACKEND_MIN) return 0;
    return (uint32_t)tag_for(object, slot, last >> PAYLOAD_TAG_SHIFT & TAG_MASK) << PAYLOAD_TAG_SHIFT;
}

/* A free slot in a list must be as it was left. */
static ALWAYS_INLINE void check_free(const char *object, size_t slot, bool trailer_is_right) {
    size_t size = slot - TRAILER_SIZE;
    if (option(&options.zero_on_free) && UNLIKELY(!is_zero(object, size)))
        misuse(WRITE_AFTER_FREE, object, fill_left(object, size, 0));
    if (UNLIKELY(!trailer_is_right)) misuse(WRITE_AFTER_FREE, object, size);
}

static ALWAYS_INLINE void *seal_small(char *object, size_t slot, size_t size) {
    ASSUME(slot <= FRONTEND_MAX && size <= slot - TRAILER_SIZE);
    uint64_t word = trailer_word_of(object, slot);
    struct trailer last = trailer_told(object, slot, word);
    check_free(object, slot, word == trailer_made(last, FREED));
    return seal(object, slot, last, size, new_tag(object, slot, last.payload));
}

/* Of the midend: the slot has no trailer if it is new, or if its pages were given back. */
static void *seal_mid(char *object, size_t slot, size_t size) {
    struct trailer last;
    uint64_t word = trailer_word_of(object, slot);
    enum trailer_state state = trailer_read(object, slot, word, &last);
    check_free(object, slot, state == FREED || word == 0);
    return seal(object, slot, last, size, new_tag(object, slot, last.payload));
}

/* Makes an object of a slot from the allocator. `zeroed`: its contents are known to be zero, or need not be. */
static NOINLINE void *seal_new(char *object, size_t size, bool zeroed) {
    if (UNLIKELY(!object)) return NULL;
    struct leaf_word leaf = leaf_of(object);
    if (page_map_owns(object) && leaf_is_slab(leaf))
        return seal_small(object, size_classes[slab_of(object)->class].size, size);
    size_t slot = object_size(object);
    if (page_map_owns(object) && leaf_kind(leaf_get(leaf_start(granule_of(object), leaf))) == MID)
        return seal_mid(object, slot, size);
    if (!zeroed) memset(object, 0, slot);
    uint32_t marks = large_guard(object, slot) ? PAYLOAD_GUARDED : 0;
    return seal(object, slot, trailer_for(object, slot, 0), size, marks | new_tag(object, slot, 0));
}

/* What is above the frontend's sizes. Large memory may be known to be zero. */
static NOINLINE void *allocate_above_slabs(size_t size, bool clear) {
    size_t slot = slot_for(size);
    bool zeroed = !clear || slot >= BACKEND_MIN;
    return seal_new((char *)(zeroed && clear ? allocate_zeroed(slot) : allocate(slot)), size, zeroed);
}

/* Memory may be in this thread's quarantine. */
static COLD void *try_again(size_t size, bool clear) {
    hardened_flush();
    return allocate_above_slabs(size, clear);
}

static NOINLINE void *allocate_sealed(size_t size, bool clear) {
    void *object = allocate_above_slabs(size, clear);
    return LIKELY(object) ? object : try_again(size, clear);
}

/* Size 0, and what is above the frontend's sizes. */
static NOINLINE void *allocate_unusual(size_t size) {
    if (UNLIKELY(size == 0) && allocator_start()) {
        void *nothing = zero_size_allocate();
        if (nothing) return nothing;
    }
    return allocate_sealed(size, option(&options.zero_on_free));
}

JW_EXPORT void *jw_malloc(size_t size) {
    if (UNLIKELY(size - 1 >= FRONTEND_MAX - TRAILER_SIZE)) return allocate_unusual(size);
    size_t slot = slot_for(size);
    char *object = (char *)allocate(slot);
    return LIKELY(object) ? seal_small(object, size_classes[slab_of(object)->class].size, size)
                          : try_again(size, false);
}

void *hardened_allocate_zeroed(size_t size) {
    if (slot_for(size) >= BACKEND_MIN) return allocate_sealed(size, true);
    void *object = jw_malloc(size);
    return object && !option(&options.zero_on_free) ? memset(object, 0, size) : object;
}

static void *allocate_aligned_sealed(size_t alignment, size_t size) {
    size_t used = SIZE_MAX;
    size_t slot = slot_for(size);
    char *object =
        (char *)(slot < BACKEND_MIN ? allocate_aligned(alignment, slot) : allocate_large(slot, alignment, &used));
    return seal_new(object, size, used == 0 || !option(&options.zero_on_free));
}

void *hardened_allocate_aligned(size_t alignment, size_t size) {
    if (alignment <= 16) return jw_malloc(size);
    void *object = allocate_aligned_sealed(alignment, size);
    if (LIKELY(object)) return object;
    hardened_flush();
    return allocate_aligned_sealed(alignment, size);
}

enum object_tier { IN_SLAB, IN_MID_SLAB, WITH_PAGES };

/* An object in use whose checks have passed. */
struct opened {
    char *object;
    size_t slot, size;
    struct trailer trailer;
    enum object_tier tier;
};

/* Checks the object before a small one, too: its overflow would have come here. */
static ALWAYS_INLINE void check_neighbour(const char *object, size_t slot) {
    const char *before = object - slot;
    if (((uintptr_t)object & (GRANULE_SIZE - 1)) == 0 || sizeof(void *) < 8) return;
    if (UNLIKELY(!trailer_may_be(before, slot, trailer_word_of(before, slot))))
        misuse(OVERFLOW, before, slot - TRAILER_SIZE);
}

/* Size of the slot in use at the address; 0: there is none. */
static ALWAYS_INLINE size_t slot_elsewhere(const char *object, enum object_tier *tier) {
    struct leaf_word leaf = leaf_of(object);
    bool ours = page_map_owns(object);
    bool mid = ours && leaf_kind(leaf_get(leaf_start(granule_of(object), leaf))) == MID;
    *tier = ours && leaf_is_slab(leaf) ? IN_SLAB : mid ? IN_MID_SLAB : WITH_PAGES;
    return *tier == IN_SLAB ? 0 : size_if_live(object);
}

/* Ends the process if the trailer does not say that the object is in use. */
static ALWAYS_INLINE void check_in_use(const void *pointer, struct opened *opened, enum misuse freed) {
    char *object = opened->object;
    size_t slot = opened->slot;
    if (tags_active && slot < BACKEND_MIN && UNLIKELY(tag_of_memory(object) != tag_of_pointer(pointer)))
        misuse(freed, object, 0);
    enum trailer_state state = trailer_read(object, slot, trailer_word_of(object, slot), &opened->trailer);
    uint32_t slack = slack_in(opened->trailer.payload, slot);
    if (UNLIKELY(state != LIVE || slack > slot - TRAILER_SIZE)) {
        if (state == FREED) misuse(freed, object, 0);
        misuse(OVERFLOW, object, slot - TRAILER_SIZE);
    }
    opened->size = slot - TRAILER_SIZE - slack;
}

/* Checks the program's pointer. False: no small object is there. */
static ALWAYS_INLINE bool open_small(const void *pointer, struct opened *opened, enum misuse freed) {
    char *object = opened->object = (char *)with_tag(pointer, 0);
    const struct slab *slab = slab_of(object);
    /* whole addresses are compared only where there are more of them than the window has */
    bool mine =
        !slab_has_key(slab, 0) && slab_has_start(object, slab) && (sizeof(void *) == 8 || page_map_owns(object));
    if (UNLIKELY(!mine)) return false;
    opened->tier = IN_SLAB;
    opened->slot = size_classes[slab->class].size;
    ASSUME(opened->slot <= FRONTEND_MAX); /* so the trailer's format is a constant */
    check_in_use(pointer, opened, freed);
    check_neighbour(object, opened->slot);
    return true;
}

static NOINLINE bool open_elsewhere(const void *pointer, struct opened *opened, enum misuse freed) {
    opened->object = (char *)with_tag(pointer, 0);
    opened->slot = slot_elsewhere(opened->object, &opened->tier);
    if (UNLIKELY(opened->slot == 0)) return false;
    check_in_use(pointer, opened, freed);
    return true;
}

/* Checks the program's pointer. False: no object in use is there; the allocator will report that. */
static ALWAYS_INLINE bool open_object(const void *pointer, struct opened *opened, enum misuse freed) {
    return open_small(pointer, opened, freed) || open_elsewhere(pointer, opened, freed);
}

/* Tag and guard of the object. */
static ALWAYS_INLINE uint32_t marks_of(const struct opened *opened) {
    return opened->trailer.payload & ((1u << slack_shift(opened->slot)) - 1);
}

/* Marks the object as free; from now on the allocator may access it. */
static ALWAYS_INLINE void close_object(const struct opened *opened) {
    char *object = opened->object;
    size_t slack = opened->slot - TRAILER_SIZE - opened->size;
    uint64_t live = trailer_made(opened->trailer, LIVE), freed = trailer_made(opened->trailer, FREED);
    /* relaxed: of two threads that free the same object only one goes on; no other data depends on the word */
    if (UNLIKELY(!atomic_compare_exchange_strong_explicit(trailer_at(object, opened->slot), &live, freed,
                                                          memory_order_relaxed, memory_order_relaxed)))
        misuse(DOUBLE_FREE, object, 0);
    if (tags_active && opened->slot < BACKEND_MIN) tag_memory(object, opened->size ? opened->size : 1, 0);
    const char *end = object + opened->size;
    uint8_t fill = opened->trailer.canary;
    if (UNLIKELY(!slack_is_filled(end, slack, fill)))
        misuse(OVERFLOW, object, opened->size + fill_left(end, filled(slack), fill));
}

static NOINLINE void free_elsewhere(void *object) {
    struct opened opened;
    if (UNLIKELY(!open_elsewhere(object, &opened, DOUBLE_FREE))) {
        if (zero_size_owns(object)) {
            zero_size_free(object);
            return;
        }
        tags_ignore();
        if (page_map_owns(opened.object)) deallocate(opened.object); /* reports the error and ends the process */
        else huge_free(opened.object);
        return;
    }
    close_object(&opened);
    if (LIKELY(opened.tier != WITH_PAGES)) quarantine_push(opened.object, opened.slot);
    else quarantine_push_large(opened.object, opened.trailer.payload & PAYLOAD_GUARDED);
}

JW_EXPORT void jw_free(void *object) {
    if (!object) return;
    struct opened opened;
    if (UNLIKELY(!open_small(object, &opened, DOUBLE_FREE))) {
        free_elsewhere(object);
        return;
    }
    close_object(&opened);
    quarantine_push(opened.object, opened.slot);
}

/* The trailer has the exact size. */
void hardened_deallocate_sized(void *object, size_t alignment, size_t size) {
    struct opened opened;
    if (object && open_object(object, &opened, DOUBLE_FREE)) {
        char *start = opened.object;
        if (((uintptr_t)start | alignment) & (alignment - 1)) misuse(WRONG_ALIGNMENT, start, alignment);
        if (size != SIZE_UNKNOWN && size != opened.size) misuse(WRONG_SIZE, start, size);
    }
    if (size != 0 && size != SIZE_UNKNOWN && zero_size_owns(object)) misuse(WRONG_SIZE, object, size);
    jw_free(object);
}

/* Within the slot, with the same tag. */
static void *resize(const struct opened *opened, size_t size) {
    close_object(opened);
    size_t old = opened->size, kept = size < old ? size : old;
    if (option(&options.zero_on_free)) memset(opened->object + kept, 0, size + old - 2 * kept);
    return seal(opened->object, opened->slot, opened->trailer, size, marks_of(opened));
}

static void *reallocate_huge(const struct opened *opened, size_t size) {
    close_object(opened);
    size_t slot = slot_for(size), left = -size & (GRANULE_SIZE - 1); /* unused bytes of the last granule */
    bool inside = size < opened->size && left <= opened->size - size;
    if (option(&options.zero_on_free) && inside) memset(opened->object + size, 0, left);
    /* the allocator leaves an object in place that shrinks by less than half, but here its slack has a bound */
    char *moved = (char *)(slot < opened->slot ? huge_resize : reallocate)(opened->object, slot);
    if (!moved) {
        seal(opened->object, opened->slot, opened->trailer, opened->size, 0);
        return NULL;
    }
    if (moved != opened->object) large_guard(moved, object_size(moved));
    slot = object_size(moved);
    return seal(moved, slot, trailer_for(moved, slot, 0), size, 0);
}

/* Whether the new slot fits into the old one, uses at least half of it, and needs no fewer granules. */
static bool keeps_slot(size_t old, size_t slot) {
    if (!stays(old, slot) || old - slot >= SLACK_MOST) return false;
    return old < BACKEND_MIN || good_size(1, slot) >= old;
}

/* By an object elsewhere. */
static void *reallocate_anew(void *object, size_t old, size_t size) {
    void *moved = jw_malloc(size);
    if (!moved) return NULL;
    memcpy(moved, object, size < old ? size : old);
    jw_free(object);
    return moved;
}

static COLD void *reallocate_unknown(void *object, size_t size) {
    if (!zero_size_owns(object)) return reallocate(with_tag(object, 0), size);
    zero_size_check(object);
    return reallocate_anew(object, 0, size);
}

void *hardened_reallocate(void *object, size_t size) {
    struct opened opened;
    if (UNLIKELY(!open_object(object, &opened, INVALID_POINTER))) return reallocate_unknown(object, size);
    size_t slot = slot_for(size);
    if (size > 0 && keeps_slot(opened.slot, slot)) return resize(&opened, size);
    bool huge = opened.tier == WITH_PAGES && !page_map_owns(opened.object);
    if (huge && slot > BACKEND_MAX) return reallocate_huge(&opened, size);
    return reallocate_anew(object, opened.size, size);
}

size_t hardened_object_size(const void *object) {
    struct opened opened;
    if (open_object(object, &opened, INVALID_POINTER)) return opened.size;
    if (!zero_size_owns(object)) return object_size(opened.object);
    zero_size_check(object);
    return 0;
}

size_t hardened_good_size(size_t alignment, size_t size) {
    return good_size(alignment, slot_for(size)) ? size : 0;
}

void hardened_flush(void) {
    if (thread_heap() != &no_heap) quarantine_leave(thread_heap());
}

#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("jw_malloc")));
JW_EXPORT void free(void *object) __attribute__((alias("jw_free")));
#endif
