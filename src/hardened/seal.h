/* seal.h - makes an object of a free slot: fill, LIVE trailer and tag (entry.h has the picture). */
#ifndef JW_SEAL_H
#define JW_SEAL_H

#include "hardened/fill_words.h"
#include "hardened/trailer.h"
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

/* Writes fill, trailer and tag of an object with `slack` bytes behind it, in its slot. `trailer`: what trailers of the
 * address have in common. `marks`: its tag and its guard. `fresh`: the program has no bytes there yet. */
/* NOLINTNEXTLINE(readability-function-size): inlined, so that six values cost nothing */
static ALWAYS_INLINE void *seal_before(char *object, size_t slot, struct trailer trailer, uint32_t marks, size_t slack,
                                       bool fresh) {
    /* a huge object whose tail the OS refused: the tail counts as in use */
    if (slot >= BACKEND_MIN && UNLIKELY(slack > SLACK_MOST)) slack = SLACK_MOST;
    char *behind = object + slot - TRAILER_SIZE;
    if (fresh && slot >= PAIRED_MIN) slack_fill_paired(behind, slack, (uint8_t)trailer.canary);
    else slack_fill(behind - slack, slack, (uint8_t)trailer.canary, fresh);
    trailer.payload = slack | (uint64_t)marks << slack_bits(slot);
    atomic_store_explicit(trailer_of(object, slot), trailer_made(trailer, LIVE), memory_order_relaxed);
    if (!tags_active || slot >= BACKEND_MIN) return object;
    unsigned tag = marks >> MARK_TAG_SHIFT & TAG_MASK;
    size_t size = slot - TRAILER_SIZE - slack;
    tag_memory(object, size ? size : 1, tag);
    return with_tag(object, tag);
}

/* The same for an object of `size` bytes. */
/* NOLINTNEXTLINE(readability-function-size): as above */
static ALWAYS_INLINE void *seal(char *object, size_t slot, struct trailer trailer, uint32_t marks, size_t size,
                                bool fresh) {
    return seal_before(object, slot, trailer, marks, slot - TRAILER_SIZE - size, fresh);
}

#endif
