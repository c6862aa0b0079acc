/* entry.c - the hardened build's malloc and free: seals new objects, and closes freed ones (entry.h). */
#include "hardened/entry.h"

#include <errno.h>
#include <string.h>

#include "backend/huge.h"
#include "config/options.h"
#include "core/limit.h"
#include "core/route.h"
#include "frontend/heap_pop.h"
#include "frontend/thread_heap.h"
#include "hardened/large.h"
#include "hardened/open.h"
#include "hardened/quarantine.h"
#include "hardened/quarantine_ring.h"
#include "hardened/regions.h"
#include "hardened/retag.h"
#include "hardened/seal.h"
#include "hardened/zero_size.h"
#include "platform/features.h"
#include "platform/misuse.h"

/* Returns a new object's tag, as marks. `last`: the payload of the slot's last trailer, which has the last tag. */
static ALWAYS_INLINE uint32_t new_tag(const char *object, size_t slot, uint64_t last) {
    if (!tags_active || slot >= BACKEND_MIN) return 0;
    return (uint32_t)tag_for(object, slot, last >> (SHORT_SLACK + MARK_TAG_SHIFT) & TAG_MASK) << MARK_TAG_SHIFT;
}

static ALWAYS_INLINE void check_freed(const char *object, size_t slot, bool trailer_is_right) {
    if (UNLIKELY(!trailer_is_right)) misuse(WRITE_AFTER_FREE, object, slot - TRAILER_SIZE);
}

static ALWAYS_INLINE void *seal_small(char *object, size_t slot, size_t size, enum keyed_way way, bool cleared) {
    ASSUME(slot <= FRONTEND_MAX && slot % SMALLEST_OBJECT == 0 && size <= slot - TRAILER_SIZE);
    if (cleared) check_zero(object, slot);
    uint64_t word = trailer_word_of(object, slot);
    struct trailer last = trailer_by(object, slot, TAGGED ? trailer_payload(word, slot) : 0, way);
    check_freed(object, slot, word == trailer_made(last, FREED));
    return seal(object, slot, last, new_tag(object, slot, last.payload), size, true);
}

/* Seals an object of the midend: its slot has no trailer if it is new, or if its pages were given back. */
static void *seal_mid(char *object, size_t slot, size_t size) {
    struct trailer last;
    uint64_t word = trailer_word_of(object, slot);
    enum trailer_state state = trailer_read(object, slot, word, &last, keyed_way());
    if (option(&options.zero_on_free)) check_zero(object, slot);
    check_freed(object, slot, state == FREED || word == 0);
    return seal(object, slot, last, new_tag(object, slot, last.payload), size, true);
}

/* Makes an object of a slot from the allocator. `zeroed`: the slot's contents are zero, or need not be zero. */
static NOINLINE void *seal_new(char *object, size_t size, bool zeroed) {
    if (UNLIKELY(!object)) return NULL;
    struct leaf_word leaf = leaf_of(object);
    if (page_map_owns(object) && leaf_is_slab(leaf))
        return seal_small(object, size_classes[slab_of(object)->class].size, size, keyed_way(),
                          option(&options.zero_on_free));
    size_t slot = object_size(object);
    if (page_map_owns(object) && object_kind(object, leaf) == MID) return seal_mid(object, slot, size);
    if (!zeroed) memset(object, 0, slot);
    uint32_t marks = large_guard(object, slot) ? MARK_GUARDED : 0;
    return seal(object, slot, trailer_for(object, slot, 0), marks | new_tag(object, slot, 0), size, true);
}

/* Allocates above the frontend's sizes. Large memory may be known to be zero. */
static NOINLINE void *allocate_above_slabs(size_t size, bool clear) {
    size_t slot = slot_for(size);
    bool zeroed = !clear || slot >= BACKEND_MIN;
    return seal_new((char *)(zeroed && clear ? allocate_zeroed(slot) : allocate(slot)), size, zeroed);
}

/* Gives up the empty slabs of all classes, unless that cannot help such a request: an attacker could mix classes by an
 * impossible size or alignment. True: there were some. */
static bool give_up_for(size_t size, size_t alignment) {
    return room_may_help(slot_for(size), alignment) && regions_give_up();
}

static void *allocate_aligned_sealed(size_t alignment, size_t size) {
    size_t dirty_bytes = SIZE_MAX;
    size_t slot = slot_for(size);
    char *object = (char *)(slot < BACKEND_MIN ? allocate_aligned(alignment, slot)
                                               : allocate_above_small(slot, alignment, &dirty_bytes));
    return seal_new(object, size, dirty_bytes == 0 || !option(&options.zero_on_free));
}

static void *allocate_once(size_t alignment, size_t size, bool clear) {
    return alignment > 16 ? allocate_aligned_sealed(alignment, size) : allocate_above_slabs(size, clear);
}

/* Tries again: with memory from this thread's quarantine, with memory that classes have kept, then with what the
 * program's callback frees, which goes through the quarantine. No memory helps an impossible size: then the quarantine
 * stays. `error`: errno before the request. */
static COLD void *try_again(size_t alignment, size_t size, bool clear, int error) {
    if (!room_may_help(slot_for(size), alignment)) return NULL;
    hardened_drain();
    void *object = allocate_once(alignment, size, clear);
    if (!object && give_up_for(size, alignment)) object = allocate_once(alignment, size, clear);
    if (!object && limit_call(size)) {
        hardened_drain();
        object = allocate_once(alignment, size, clear);
    }
    if (object) errno = error;
    return object;
}

static NOINLINE void *allocate_sealed(size_t size, bool clear) {
    int error = errno;
    void *object = allocate_above_slabs(size, clear);
    return LIKELY(object) ? object : try_again(1, size, clear, error);
}

/* Allocates an object of size 0, or of a size above the frontend's. */
static NOINLINE void *allocate_unusual(size_t size) {
    if (UNLIKELY(size == 0) && allocator_start()) {
        void *nothing = zero_size_allocate();
        if (nothing) return nothing;
    }
    return allocate_sealed(size, option(&options.zero_on_free));
}

/* Makes an object of the allocator's next slot. */
static NOINLINE void *allocate_small_sealed(size_t size) {
    int error = errno;
    char *object = (char *)allocate(slot_for(size));
    return LIKELY(object) ? seal_small(object, size_classes[slab_of(object)->class].size, size, keyed_way(),
                                       option(&options.zero_on_free))
                          : try_again(1, size, false, error);
}

/* Makes an object of the next slot of the heap's list, if there is one. The process has USUAL_WAY and zero_on_free. */
static NOINLINE void *malloc_listed(size_t size) {
    struct heap *heap = thread_heap();
    ASSUME(size - 1 < FRONTEND_MAX - TRAILER_SIZE);
    size_t list = heap->size_map[slot_for(size)];
    if (UNLIKELY(link_is_end(heap->first[list]))) return allocate_small_sealed(size);
    char *object = heap_pop(&heap->first[list], heap->key);
    return seal_small(object, size_classes[class_of_list(list)].size, size, USUAL_WAY, true);
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

static NOINLINE void *malloc_unusually(size_t size) {
    return malloc_by(size, false);
}

JW_EXPORT void *jw_malloc(size_t size) {
    return LIKELY(secrets.usual) ? malloc_by(size, true) : malloc_unusually(size);
}

void *hardened_allocate_zeroed(size_t size) {
    if (slot_for(size) >= BACKEND_MIN) return allocate_sealed(size, true);
    void *object = jw_malloc(size);
    return object && !option(&options.zero_on_free) ? memset(object, 0, size) : object;
}

void *hardened_allocate_aligned(size_t alignment, size_t size) {
    if (alignment <= 16) return jw_malloc(size);
    int error = errno;
    void *object = allocate_aligned_sealed(alignment, size);
    return LIKELY(object) ? object : try_again(alignment, size, false, error);
}

static NOINLINE void free_elsewhere(void *object) {
    if (!object) return;
    struct opened opened;
    if (UNLIKELY(!open_elsewhere(object, &opened, DOUBLE_FREE))) {
        if (zero_size_owns(object)) {
            zero_size_free(object);
            return;
        }
        tags_ignore();
        if (page_map_owns(opened.object)) free_object(opened.object); /* reports the error and ends the process */
        else huge_free(opened.object);
        return;
    }
    close_object(&opened);
    if (LIKELY(opened.tier != WITH_PAGES)) quarantine_push(opened.object, opened.slot);
    else quarantine_push_large(opened.object, marks_of(&opened) & MARK_GUARDED);
}

/* Frees any object: of a size or at a time that free_usually leaves out, of another tier, or invalid. */
static NOINLINE void free_unusually(void *object) {
    struct opened opened;
    if (UNLIKELY(!open_small(object, &opened, DOUBLE_FREE, keyed_way()))) {
        free_elsewhere(object);
        return;
    }
    close_object(&opened);
    quarantine_push(opened.object, opened.slot);
}

static void free_other_usually(void *pointer);

/* Frees a small object into the quarantine's ring, if there is room. `own`, a constant: of this thread's heap. The
 * process has USUAL_WAY and zero_on_free. */
static ALWAYS_INLINE void free_usually(void *pointer, bool own) {
    struct opened opened = {.object = (char *)with_tag(pointer, 0), .tier = IN_SLAB};
    char *object = opened.object;
    const struct slab *slab = slab_of(object);
    if (own && UNLIKELY(!slab_has_key(slab, thread_key()))) {
        free_other_usually(pointer);
        return;
    }
    if (!own && UNLIKELY(slab_has_key(slab, 0))) goto unusual;
    if (UNLIKELY(!slab_has_start(object, slab)) || (sizeof(void *) < 8 && !page_map_owns(object))) goto unusual;
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
    check_neighbour(object, slot, byte_of_product(before));
    check_in_use(pointer, &opened, DOUBLE_FREE, USUAL_WAY, byte_of_product(product));
    close_object(&opened);
    clear_but_last(object, slot);
    return;
unusual:
    free_unusually(pointer);
}

static NOINLINE void free_other_usually(void *pointer) {
    free_usually(pointer, false);
}

/* Of NULL, too: no slab is there. */
JW_EXPORT void jw_free(void *object) {
    if (LIKELY(secrets.usual)) free_usually(object, true);
    else free_unusually(object);
}

/* Frees an object, and compares the size with the exact size in the trailer. */
void hardened_free_aligned_of_size(void *object, size_t alignment, size_t size) {
    struct opened opened;
    if (object && open_object(object, &opened, DOUBLE_FREE)) {
        char *start = opened.object;
        if (((uintptr_t)start | alignment) & (alignment - 1)) misuse(WRONG_ALIGNMENT, start, alignment);
        if (size != SIZE_UNKNOWN && size != opened.size) misuse(WRONG_SIZE, start, size);
    }
    if (size != 0 && size != SIZE_UNKNOWN && zero_size_owns(object)) misuse(WRONG_SIZE, object, size);
    jw_free(object);
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

void hardened_drain(void) {
    if (thread_heap() != &no_heap) quarantine_drain(thread_heap());
}

#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("jw_malloc")));
JW_EXPORT void free(void *object) __attribute__((alias("jw_free")));
#endif
