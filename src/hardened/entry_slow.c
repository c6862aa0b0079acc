/* entry_slow.c - what is rare in the hardened build's malloc and free: other tiers, no memory, unusual options. */
#include <errno.h>
#include <string.h>

#include "backend/huge.h"
#include "config/options.h"
#include "core/limit.h"
#include "core/route.h"
#include "frontend/disable.h"
#include "hardened/entry.h"
#include "hardened/entry_steps.h"
#include "hardened/large.h"
#include "hardened/quarantine.h"
#include "hardened/regions.h"
#include "hardened/zero_size.h"

/* Seals an object of the midend: its slot has no trailer if it is new, or if its pages were given back. */
static void *seal_mid(char *object, size_t slot, size_t size) {
    struct trailer last;
    uint64_t word = trailer_word_of(object, slot);
    enum trailer_state state = trailer_read(object, slot, word, &last, keyed_way());
    if (option(&options.zero_on_free)) check_zero(object, slot);
    if (UNLIKELY(state != FREED && word != 0)) misuse(WRITE_AFTER_FREE, object, slot - TRAILER_SIZE);
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

/* Makes a large object whose guard is there already. As allocate_above_small, it waits for a thread that has disabled
 * malloc. NULL: no range of the slot's class waits with its guard. */
static void *allocate_again(size_t size, size_t slot) {
    if (slot < BACKEND_MIN || option_init() != INIT_NONE) return NULL;
    disable_wait();
    char *object = large_again(slot);
    if (!object) return NULL;
    slot = object_size(object);
    return seal(object, slot, trailer_for(object, slot, 0), MARK_GUARDED, size, true);
}

/* Allocates above the frontend's sizes. Large memory may be known to be zero. */
static NOINLINE void *allocate_above_slabs(size_t size, bool clear) {
    size_t slot = slot_for(size);
    void *again = allocate_again(size, slot);
    if (again) return again;
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

void *allocate_sealed(size_t size, bool clear) {
    int error = errno;
    void *object = allocate_above_slabs(size, clear);
    return LIKELY(object) ? object : try_again(1, size, clear, error);
}

/* An object of size 0. NULL: it must be an ordinary object. */
static void *allocate_nothing(size_t alignment) {
    return allocator_start() ? zero_size_allocate(alignment) : NULL;
}

/* Allocates an object of size 0, or of a size above the frontend's. */
void *allocate_unusual(size_t size) {
    void *nothing = UNLIKELY(size == 0) ? allocate_nothing(1) : NULL;
    if (nothing) return nothing;
    return allocate_sealed(size, option(&options.zero_on_free));
}

/* Makes an object of the allocator's next slot. */
void *allocate_small_sealed(size_t size) {
    int error = errno;
    char *object = (char *)allocate(slot_for(size));
    return LIKELY(object) ? seal_small(object, size_classes[slab_of(object)->class].size, size, keyed_way(),
                                       option(&options.zero_on_free))
                          : try_again(1, size, false, error);
}

void *allocate_aligned_unusual(size_t alignment, size_t size) {
    int error = errno;
    void *object = UNLIKELY(size == 0) ? allocate_nothing(alignment) : NULL;
    if (!object) object = allocate_aligned_sealed(alignment, size);
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
void free_unusually(void *object) {
    struct opened opened;
    if (UNLIKELY(!open_small(object, &opened, DOUBLE_FREE, keyed_way()))) {
        free_elsewhere(object);
        return;
    }
    close_object(&opened);
    quarantine_push(opened.object, opened.slot);
}

void hardened_drain(void) {
    if (thread_heap() != &no_heap) quarantine_drain(thread_heap());
}
