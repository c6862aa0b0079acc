/* open.h - checks an object that the program gives back or asks about: tag, trailer, and when it is closed its fill. */
#ifndef JW_OPEN_H
#define JW_OPEN_H

#include "backend/large_object.h"
#include "frontend/slab.h"
#include "hardened/seal.h"
#include "platform/misuse.h"

enum object_tier { IN_SLAB, IN_MID_SLAB, WITH_PAGES };

/* An object in use whose checks have passed. */
struct opened {
    char *object;
    size_t slot, slack; /* slack: bytes behind the object, up to its trailer */
    struct trailer trailer;
    uint64_t word; /* of the trailer */
    enum object_tier tier;
};

/* Whether the trailer of the object before a small one may be right: an overflow of that object would have come here.
 * `canary`: of that object. */
static ALWAYS_INLINE bool neighbour_is_right(const char *object, size_t slot, uint64_t canary) {
    if (UNLIKELY(((uintptr_t)object & (GRANULE_SIZE - 1)) == 0) || sizeof(void *) < 8) return true;
    return trailer_may_be(trailer_word_of(object - slot, slot), canary);
}

static ALWAYS_INLINE void check_neighbour(const char *object, size_t slot) {
    if (UNLIKELY(!neighbour_is_right(object, slot, address_byte(object - slot))))
        misuse(OVERFLOW, object - slot, slot - TRAILER_SIZE);
}

static COLD _Noreturn void report_not_zero(const char *object, size_t slot) {
    misuse(WRITE_AFTER_FREE, object, fill_left(object, slot - TRAILER_SIZE, 0));
}

/* Reports a free slot that the program has written to: before its trailer, or there. */
static ALWAYS_INLINE void check_zero(const char *object, size_t slot) {
    if (UNLIKELY(!is_zero_but_last(object, slot))) report_not_zero(object, slot);
}

/* Reports a trailer that is not the one of an object in use. Where another thread frees a large object at this moment,
 * the trailer may be gone. */
static COLD _Noreturn void report_trailer(const char *object, size_t slot, uint64_t word, enum misuse freed) {
    struct trailer trailer;
    bool gone = slot >= BACKEND_MIN && page_map_owns(object) && large_usable_size(object) == 0;
    if (gone || trailer_read(object, slot, word, &trailer, keyed_way()) == FREED) misuse(freed, object, 0);
    misuse(OVERFLOW, object, slot - TRAILER_SIZE);
}

/* Whether the trailer says that the object is in use. `canary`: of the object. */
static ALWAYS_INLINE bool is_in_use(struct opened *opened, enum keyed_way way, uint64_t canary) {
    const size_t slot = opened->slot;
    const uint64_t word = opened->word = trailer_word_of(opened->object, slot);
    const unsigned bits = payload_bits(slot);
    const uint64_t told = trailer_tells(word, canary, bits);
    opened->trailer = (struct trailer){keyed_of(opened->object, way), told, canary, bits};
    uint64_t slack = told; /* of a small object without marks these are the same, or the trailer is wrong */
    bool right = code_is_right(opened->trailer.keyed, told, word, bits);
    if (TAGGED || slot > FRONTEND_MAX) {
        right &= told >> bits == 0;
        slack &= ((uint64_t)1 << slack_bits(slot)) - 1;
    }
    opened->slack = (size_t)slack;
    return LIKELY(right) && LIKELY(slack <= slot - TRAILER_SIZE);
}

/* Whether the pointer's tag is the memory's, or tags have been switched off. */
static ALWAYS_INLINE bool tag_is_right(const void *pointer, const struct opened *opened) {
    return !tags_active || opened->slot >= BACKEND_MIN ||
           LIKELY(tag_of_memory(opened->object) == tag_of_pointer(pointer)) || !tags_are_given();
}

/* Ends the process if the trailer does not say that the object is in use. */
static ALWAYS_INLINE void check_in_use(const void *pointer, struct opened *opened, enum misuse freed,
                                       enum keyed_way way) {
    if (!tag_is_right(pointer, opened)) misuse(freed, opened->object, 0);
    if (UNLIKELY(!is_in_use(opened, way, address_byte(opened->object))))
        report_trailer(opened->object, opened->slot, opened->word, freed);
}

/* Checks the program's pointer. False: no small object is there. */
static ALWAYS_INLINE bool open_small(const void *pointer, struct opened *opened, enum misuse freed,
                                     enum keyed_way way) {
    char *object = opened->object = (char *)with_tag(pointer, 0);
    const struct slab *slab = slab_of(object);
    /* slab_has_start finds foreign addresses only where addresses are longer than an index into the window: on 64
     * bits */
    bool mine =
        !slab_has_key(slab, 0) && slab_has_start(object, slab) && (sizeof(void *) == 8 || page_map_owns_fast(object));
    if (UNLIKELY(!mine)) return false;
    opened->tier = IN_SLAB;
    opened->slot = size_classes[slab->class].size;
    ASSUME(opened->slot <= FRONTEND_MAX); /* so the trailer's format is a constant */
    check_neighbour(object, opened->slot);
    check_in_use(pointer, opened, freed, way);
    return true;
}

/* Checks the pointer as open_small does, for the other tiers. False: no object in use is there. */
bool open_elsewhere(const void *pointer, struct opened *opened, enum misuse freed);

/* Checks the program's pointer. False: no object in use is there; the allocator will report that. */
static ALWAYS_INLINE bool open_object(const void *pointer, struct opened *opened, enum misuse freed) {
    return open_small(pointer, opened, freed, keyed_way()) || open_elsewhere(pointer, opened, freed);
}

/* Tag and guard of the object. */
static ALWAYS_INLINE uint32_t marks_of(const struct opened *opened) {
    return (uint32_t)(opened->trailer.payload >> slack_bits(opened->slot));
}

/* What the program asked for. */
static ALWAYS_INLINE size_t size_of_opened(const struct opened *opened) {
    return opened->slot - TRAILER_SIZE - opened->slack;
}

static COLD _Noreturn void report_overflow(const char *object, size_t size, size_t slack) {
    misuse(OVERFLOW, object, size + fill_left(object + size, filled(slack), (uint8_t)address_byte(object)));
}

/* Marks the object as free; from now on the allocator may access it. False: another thread has done so. */
static ALWAYS_INLINE bool close_trailer(const struct opened *opened) {
    trailer_word *trailer = trailer_at(opened->object, opened->slot);
    uint64_t live = opened->word, freed = trailer_made(opened->trailer, FREED);
    /* relaxed: of two threads that free the same object only one goes on; no other data depends on the word */
    if (UNLIKELY(!atomic_compare_exchange_strong_explicit(trailer, &live, freed, memory_order_relaxed,
                                                          memory_order_relaxed)))
        return false;
    if (tags_active && opened->slot < BACKEND_MIN) {
        size_t size = size_of_opened(opened);
        tag_memory(opened->object, size ? size : 1, 0);
    }
    return true;
}

/* Whether an object that is closed has the fill behind it. */
static ALWAYS_INLINE bool fill_is_right(const struct opened *opened) {
    char *behind = opened->object + opened->slot - TRAILER_SIZE;
    size_t slack = opened->slack;
    uint8_t fill = (uint8_t)opened->trailer.canary;
    return opened->slot >= PAIRED_MIN ? !slack_differs_paired(behind, slack, fill)
                                      : slack_differs(behind - slack, slack, fill) == 0;
}

static ALWAYS_INLINE void close_object(const struct opened *opened) {
    if (!close_trailer(opened)) misuse(DOUBLE_FREE, opened->object, 0);
    if (UNLIKELY(!fill_is_right(opened))) report_overflow(opened->object, size_of_opened(opened), opened->slack);
}

/* For malloc and free: report what they have found, and end the process. Of a small object that may not be freed: it or
 * its neighbour is wrong. */
LAST_STEP void free_refused(const void *pointer, size_t slot);
/* Of an object with a wrong fill. */
LAST_STEP void free_overflowed(const char *object, size_t size, size_t slack);
/* Of a free slot that the program has written to. */
LAST_STEP void *slot_refused(const char *object, size_t slot, bool cleared);

#endif
