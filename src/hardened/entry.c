/* entry.c - the hardened build's malloc and free: seals new objects, checks and closes freed ones (entry.h). */
#include "hardened/entry.h"

#include <string.h>

#include "backend/huge.h"
#include "base/misuse.h"
#include "config/options.h"
#include "hardened/quarantine.h"
#include "hardened/retag.h"
#include "hardened/trailer.h"
#include "platform/tags.h"

/* Size of a slot for `size` bytes; a size that is too large stays too large. */
static size_t slot_for(size_t size) {
    return size < SIZE_MAX - (size_t)2 * TRAILER_SIZE ? size + TRAILER_SIZE + (size == 0) : SIZE_MAX;
}

/* The trailer, by a pointer with the memory's tag: the trailer can share a tag with the object's last bytes. */
static ALWAYS_INLINE trailer_word *trailer_at(const char *object, size_t slot) {
    trailer_word *trailer = trailer_of(object, slot);
    return tags_active ? (trailer_word *)with_tag(trailer, tag_of_memory(trailer)) : trailer;
}

static ALWAYS_INLINE enum trailer_state read_trailer(const char *object, size_t slot, struct trailer *trailer) {
    return trailer_read(object, atomic_load_explicit(trailer_at(object, slot), memory_order_relaxed), trailer);
}

/* The slack in a payload, without the tag: only objects below BACKEND_MIN have one. */
static ALWAYS_INLINE uint32_t slack_in(uint32_t payload, size_t slot) {
    return slot < BACKEND_MIN ? payload & ((1u << PAYLOAD_TAG) - 1) : payload;
}

/* Writes fill, trailer and tag of an object of `size` bytes in its slot. `known`: a trailer of this address. */
static ALWAYS_INLINE void *seal(char *object, size_t slot, struct trailer known, size_t size, unsigned tag) {
    size_t slack = slot - TRAILER_SIZE - size;
    if (UNLIKELY(slack > SLACK_MOST)) { /* a huge object whose tail the OS refused: the tail counts as in use */
        slack = SLACK_MOST;
        size = slot - TRAILER_SIZE - slack;
    }
    fill_slack(object + size, filled(slack), secrets.fill);
    uint32_t payload = (uint32_t)slack | tag << PAYLOAD_TAG;
    if (known.payload != payload) known = trailer_for(object, payload);
    atomic_store_explicit(trailer_of(object, slot), trailer_made(known, LIVE), memory_order_relaxed);
    if (!tag) return object;
    tag_memory(object, size ? size : 1, tag);
    return with_tag(object, tag);
}

/* Makes an object of a slot from the allocator. */
static void *seal_new(char *object, size_t size, bool clear) {
    if (UNLIKELY(!object)) return NULL;
    bool small = leaf_is_slab(leaf_of(object)) && page_map_owns(object);
    size_t slot = small ? size_classes[slab_of(object)->class].size : object_size(object);
    struct trailer last; /* in other tiers there may be none: the slot need not be a former object's */
    if (UNLIKELY(read_trailer(object, slot, &last) != FREED) && small)
        misuse(WRITE_AFTER_FREE, object, slot - TRAILER_SIZE);
    if (clear) memset(object, 0, size);
    unsigned tag = tags_active && slot < BACKEND_MIN ? tag_for(object, slot, last.payload >> PAYLOAD_TAG) : 0;
    return seal(object, slot, last, size, tag);
}

JW_EXPORT void *jw_malloc(size_t size) {
    return seal_new((char *)allocate(slot_for(size)), size, option(&options.zero_on_free));
}

void *hardened_allocate_zeroed(size_t size) {
    bool large = slot_for(size) >= BACKEND_MIN; /* its memory may be known to be zero */
    return seal_new((char *)(large ? allocate_zeroed(slot_for(size)) : allocate(slot_for(size))), size, !large);
}

void *hardened_allocate_aligned(size_t alignment, size_t size) {
    return seal_new((char *)allocate_aligned(alignment, slot_for(size)), size, option(&options.zero_on_free));
}

/* An object in use whose checks have passed. */
struct opened {
    char *object;
    size_t slot, size;
    struct trailer trailer;
    unsigned tag;
};

/* Checks the object before a small one, too: its overflow would have come here. */
static ALWAYS_INLINE void check_neighbour(const char *object, size_t slot) {
    const char *before = object - slot;
    struct trailer trailer;
    if (((uintptr_t)object & (GRANULE_SIZE - 1)) == 0 || sizeof(void *) < 8) return;
    if (UNLIKELY(read_trailer(before, slot, &trailer) == BROKEN)) misuse(OVERFLOW, before, slot - TRAILER_SIZE);
}

/* Size of the slot in use at the address; 0: there is none. */
static ALWAYS_INLINE size_t slot_of_object(const char *object, bool *small) {
    *small = leaf_is_slab(leaf_of(object)) && page_map_owns(object);
    if (UNLIKELY(!*small)) return size_if_live(object);
    const struct slab *slab = slab_of(object);
    return slab_has_start(object, slab) ? size_classes[slab->class].size : 0;
}

/* Checks the program's pointer. False: no object in use is there; the allocator will report that. */
static ALWAYS_INLINE bool open_object(const void *pointer, struct opened *opened, enum misuse freed) {
    char *object = opened->object = (char *)with_tag(pointer, 0);
    bool small;
    size_t slot = opened->slot = slot_of_object(object, &small);
    if (UNLIKELY(slot == 0)) return false;
    opened->tag = tag_of_pointer(pointer);
    if (tags_active && slot < BACKEND_MIN && UNLIKELY(tag_of_memory(object) != opened->tag)) misuse(freed, object, 0);
    enum trailer_state state = read_trailer(object, slot, &opened->trailer);
    uint32_t slack = slack_in(opened->trailer.payload, slot);
    if (UNLIKELY(state == FREED)) misuse(freed, object, 0);
    if (UNLIKELY(state == BROKEN || slack > slot - TRAILER_SIZE)) misuse(OVERFLOW, object, slot - TRAILER_SIZE);
    opened->size = slot - TRAILER_SIZE - slack;
    if (small) check_neighbour(object, slot);
    return true;
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
    if (opened->tag) tag_memory(object, opened->size ? opened->size : 1, 0);
    size_t left = fill_left(object + opened->size, filled(slack), secrets.fill);
    if (UNLIKELY(left != filled(slack))) misuse(OVERFLOW, object, opened->size + left);
}

JW_EXPORT void jw_free(void *object) {
    if (!object) return;
    struct opened opened;
    if (UNLIKELY(!open_object(object, &opened, DOUBLE_FREE))) {
        tags_ignore(); /* deallocate reports the error and ends the process */
        deallocate(opened.object);
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
    jw_free(object);
}

/* Within the slot, with the same tag. */
static void *resize(const struct opened *opened, size_t size) {
    close_object(opened);
    size_t old = opened->size, kept = size < old ? size : old;
    if (option(&options.zero_on_free)) memset(opened->object + kept, 0, size + old - 2 * kept);
    return seal(opened->object, opened->slot, opened->trailer, size, opened->tag);
}

static void *reallocate_huge(const struct opened *opened, size_t size) {
    close_object(opened);
    size_t slot = slot_for(size), left = -size & (GRANULE_SIZE - 1); /* unused bytes of the last granule */
    if (option(&options.zero_on_free) && size + left <= opened->size) memset(opened->object + size, 0, left);
    /* the allocator leaves an object in place that shrinks by less than half, but here its slack has a bound */
    char *moved = (char *)(slot < opened->slot ? huge_resize : reallocate)(opened->object, slot);
    if (moved) return seal(moved, object_size(moved), trailer_for(moved, 0), size, 0);
    seal(opened->object, opened->slot, opened->trailer, opened->size, 0);
    return NULL;
}

/* Whether the new slot fits into the old one, uses at least half of it, and needs no fewer granules. */
static bool keeps_slot(size_t old, size_t slot) {
    if (slot > old || old - slot >= SLACK_MOST || (slot <= old / 2 && old > 32)) return false;
    return old < BACKEND_MIN || good_size(1, slot) >= old;
}

void *hardened_reallocate(void *object, size_t size) {
    struct opened opened;
    if (UNLIKELY(!open_object(object, &opened, INVALID_POINTER))) return reallocate(opened.object, size);
    size_t slot = slot_for(size);
    if (keeps_slot(opened.slot, slot)) return resize(&opened, size);
    if (opened.slot > BACKEND_MAX && slot > BACKEND_MAX) return reallocate_huge(&opened, size);
    void *moved = jw_malloc(size);
    if (!moved) return NULL;
    memcpy(moved, object, size < opened.size ? size : opened.size);
    jw_free(object);
    return moved;
}

size_t hardened_object_size(const void *object) {
    struct opened opened;
    return open_object(object, &opened, INVALID_POINTER) ? opened.size : object_size(opened.object);
}

size_t hardened_good_size(size_t alignment, size_t size) {
    return good_size(alignment, slot_for(size)) ? size : 0;
}

void hardened_flush(void) {
    if (thread.heap != &no_heap) quarantine_leave(thread.heap);
}

#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("jw_malloc")));
JW_EXPORT void free(void *object) __attribute__((alias("jw_free")));
#endif
