/* entry_steps.h - the usual way of the hardened build's malloc and free, for small objects: entry.c has it for any
 * processor, entry_wide.c for those with vectors of 32 bytes. What is rare is in entry_slow.c.
 */
#ifndef JW_ENTRY_STEPS_H
#define JW_ENTRY_STEPS_H

#include "config/options.h"
#include "frontend/heap_pop.h"
#include "frontend/thread_heap.h"
#include "hardened/open.h"
#include "hardened/quarantine_ring.h"
#include "hardened/retag.h"
#include "hardened/seal.h"
#include "platform/features.h"
#include "platform/misuse.h"

#if JW_SECURE /* GenMC reads all headers for each client */

/* Of entry_slow.c. An object of size 0, or of a size above the frontend's. */
void *allocate_unusual(size_t size);
/* An object above the frontend's sizes; `clear`: it must be zero. */
void *allocate_sealed(size_t size, bool clear);
/* An object of the allocator's next slot. */
void *allocate_small_sealed(size_t size);
/* An object with an alignment that is not each object's. */
void *allocate_aligned_unusual(size_t alignment, size_t size);
/* Frees any object: of a size or at a time that free_by leaves out, of another tier, or invalid. */
void free_unusually(void *object);

#if JW_WIDE
/* Of entry_wide.c: malloc and free of a process that has vectors of 32 bytes, USUAL_WAY and zero_on_free. */
void *malloc_wide(size_t size);
void free_wide(void *object);
#endif

/* Returns a new object's tag, as marks. `last`: the payload of the slot's last trailer, which has the last tag. */
static ALWAYS_INLINE uint32_t new_tag(const char *object, size_t slot, uint64_t last) {
    if (!tags_active || slot >= BACKEND_MIN || !tags_are_given()) return 0;
    return (uint32_t)tag_for(object, slot, last >> (SHORT_SLACK + MARK_TAG_SHIFT) & TAG_MASK) << MARK_TAG_SHIFT;
}

/* `cleared`: the slot is zero but for its trailer, or the program has written to it. */
static ALWAYS_INLINE void *seal_small(char *object, size_t slot, size_t size, enum keyed_way way, bool cleared) {
    ASSUME(slot <= FRONTEND_MAX && slot % SMALLEST_OBJECT == 0 && size <= slot - TRAILER_SIZE);
    const size_t slack = (size_t)computed_now(slot - TRAILER_SIZE - size); /* takes the size's register */
    if (cleared && UNLIKELY(!is_zero_but_last(object, slot))) return slot_refused(object, slot, true);
    struct trailer last =
        trailer_by(object, slot, TAGGED ? trailer_payload(trailer_word_of(object, slot), slot) : 0, way);
    uint64_t freed = computed_now(trailer_made(last, FREED));
    if (UNLIKELY(trailer_word_of(object, slot) != freed)) return slot_refused(object, slot, false);
    return seal_before(object, slot, last, new_tag(object, slot, last.payload), slack, true);
}

/* Makes an object of the next slot of the heap's list, if there is one. The process has USUAL_WAY and zero_on_free. */
static NOINLINE void *malloc_listed(size_t size) {
    struct heap *heap = thread_heap();
    ASSUME(size - 1 < FRONTEND_MAX - TRAILER_SIZE);
    size_t list = heap->size_map[slot_for(size)];
    if (UNLIKELY(link_is_end(heap->first[list]))) return allocate_small_sealed(size);
    char *object = heap_pop(&heap->first[list], heap->key);
    const size_t slot = size_classes[class_of_list(list)].size;
    slot_prefetch(heap->first[list], slot);
    return seal_small(object, slot, size, USUAL_WAY, true);
}

/* `usual`, a constant: the process has USUAL_WAY and zero_on_free. */
static ALWAYS_INLINE void *malloc_by(size_t size, bool usual) {
    if (UNLIKELY(size - 1 >= FRONTEND_MAX - TRAILER_SIZE)) return allocate_unusual(size);
    struct heap *heap = thread_heap();
    size_t place = place_of_list(heap->size_map[slot_for(size)]);
    struct quarantine_class *class = class_at(heap->quarantine, place);
    char *object = LIKELY(heap->quarantine) ? ready_take(class) : NULL;
    if (UNLIKELY(!object)) return usual ? malloc_listed(size) : allocate_small_sealed(size);
    return seal_small(object, class->slot, size, usual ? USUAL_WAY : keyed_way(),
                      usual || option(&options.zero_on_free));
}

static void free_of_other(void *pointer);

/* Frees a small object into the quarantine's ring, if there is room. `own`, a constant: of this thread's heap. The
 * process has USUAL_WAY and zero_on_free. */
static ALWAYS_INLINE void free_by(void *pointer, bool own) {
    struct opened opened = {.object = (char *)with_tag(pointer, 0), .tier = IN_SLAB};
    char *object = opened.object;
    const struct slab *slab = slab_of(object);
    if (own && UNLIKELY(!slab_has_key(slab, thread_key()))) {
        free_of_other(pointer);
        return;
    }
    if (!own && UNLIKELY(slab_has_key(slab, 0))) goto unusual;
    if (UNLIKELY(!slab_has_start(object, slab)) || (sizeof(void *) < 8 && !page_map_owns_fast(object))) goto unusual;
    struct quarantine *quarantine = thread_heap()->quarantine;
    if (UNLIKELY(!quarantine)) goto unusual;
    const struct quarantine_class *class = class_at(quarantine, place_of_class(slab->class));
    const size_t slot = opened.slot = class->slot;
    const uint64_t state = quarantine->state + class->push; /* the limit is below CHARGED_SLOWLY */
    if (UNLIKELY((int64_t)state < 0)) goto unusual;
    ASSUME(is_cleared_inline(slot));
    uint64_t product = address_product(object), before = product - class->step;
    /* first: what it needs then takes no registers from the checks, after which the process goes on, or ends */
    quarantine_put(quarantine, state, own ? entry_of_own(object, class->entry) : entry_of_other(object, slot));
    if (UNLIKELY(!neighbour_is_right(object, slot, byte_of_product(before)))) goto refused;
    if (UNLIKELY(!tag_is_right(pointer, &opened))) goto refused;
    if (UNLIKELY(!is_in_use(&opened, USUAL_WAY, byte_of_product(product)))) goto refused;
    if (UNLIKELY(!close_trailer(&opened))) goto refused;
    if (UNLIKELY(!fill_is_right(&opened))) {
        free_overflowed(object, size_of_opened(&opened), opened.slack);
        return;
    }
    clear_but_last(object, slot);
    return;
refused:
    free_refused(pointer, slot);
    return;
unusual:
    free_unusually(pointer);
}

static NOINLINE void free_of_other(void *pointer) {
    free_by(pointer, false);
}

#endif

#endif
