/* tagged.c - a plain core's entry points that give objects memory tags (tagged.h). */
#include "core/tagged.h"

#if TAGGED_ENTRIES

#include <errno.h>
#include <string.h>

#include "config/options.h"
#include "core/hit_path.h"
#include "core/limit.h"
#include "core/new_contents.h"
#include "core/tagging.h"
#include "core/tracking.h"
#include "platform/misuse.h"
#include "platform/tags.h"

/* --- malloc ----------------------------------------------------------------------------------------------------- */

static ALWAYS_INLINE size_t size_with_tag(size_t size) {
    return size > TAG_BYTES ? size : TAG_BYTES;
}

/* Gives a new object a tag that its number may have, and that it did not have last. */
static ALWAYS_INLINE void *give_tag(char *object, size_t size, uint64_t rules, uint64_t number, uint8_t last) {
    void *tagged = tagged_at_random(object, tags_excluded(rules, number, last));
    tag_units(tagged, size);
    return tagged;
}

/* The same for an object of any tier, by a call. `clear`: it is to be zero. */
static NOINLINE void *place_new(char *object, size_t size, bool clear) {
    struct tagged_place place;
    uint64_t rules = tag_rules_now();
    if (UNLIKELY(!object)) return NULL;
    if (!rules || !tagged_place_find(object, &place)) return clear ? fill_object(object, size, 0) : object;
    tag_units(object, TAG_BYTES); /* a write: else a new page would first come as the system's page of zeros */
    uint8_t last = *place.last;
    if (clear) memset(object, 0, place.size);
    else if (UNLIKELY(tag_rules_unusual(rules))) *place.last = option_init() == INIT_PATTERN ? FILL_PATTERN : 0;
    return give_tag(object, place.size, rules, place.number, last);
}

/* A size without a near object, or an unusual time; the rules may be known only after the allocation. */
static NOINLINE void *allocate_unusually(size_t size) {
    return track_allocated(place_new(allocate(size_with_tag(size)), size, false), size);
}

HIT_PATH JW_EXPORT void *jw_malloc(size_t size) {
    uint64_t rules = tag_rules_now();
    if (!rules) return track_allocated(allocate(size), size);
    struct heap *heap = thread_heap();
    size_t list_index, wanted = size_with_tag(size);
    if (UNLIKELY(tag_rules_unusual(rules))) return allocate_unusually(size);
    char *object = allocate_near(heap, wanted, &list_index);
    if (UNLIKELY(!object)) return allocate_unusually(size);
    const struct size_class *shape = &size_classes[class_of_list(list_index)];
    uint8_t last = (uint8_t)object[LAST_TAG_OF_SMALL];
    return track_allocated(give_tag(object, shape->size, rules, tagged_number(object, shape), last), size);
}

void *tagged_allocate_zeroed(size_t size) {
    if (!tag_rules_now() || size >= BACKEND_MIN) return track_allocated(allocate_zeroed(size), size);
    return track_allocated(place_new(allocate(size_with_tag(size)), size_with_tag(size), true), size);
}

void *tagged_allocate_aligned(size_t alignment, size_t size) {
    size_t wanted = tag_rules_now() ? size_with_tag(size) : size;
    return track_allocated(place_new(allocate_aligned(alignment, wanted), wanted, false), size);
}

size_t tagged_good_size(size_t alignment, size_t size) {
    return good_size(alignment, tag_rules_now() ? size_with_tag(size) : size);
}

/* --- free ------------------------------------------------------------------------------------------------------- */

/* The memory has another tag than the pointer. Returns if tags have been switched off: a program may have lost them. */
static COLD void report_tag(const void *pointer, enum misuse kind) {
    if (tags_are_given()) misuse(kind, with_tag(pointer, 0), 0);
}

static ALWAYS_INLINE void take_tag(void *object, size_t size, uint8_t *last, const void *pointer) {
    tag_units(object, size);
    *last = (uint8_t)tag_of_pointer(pointer);
}

/* Takes the tag from an object that the program frees. NULL and what is no object stay as they are; before the start
 * all is. */
static NOINLINE void *untag_object(void *pointer) {
    struct tagged_place place;
    void *object = with_tag(pointer, 0);
    if (tagged_place_find(pointer, &place)) {
        void *memory = tagged_as_memory(object);
        if (UNLIKELY(memory != pointer)) report_tag(pointer, DOUBLE_FREE);
        if (memory != object) take_tag(object, place.size, place.last, memory);
    } else if (UNLIKELY(pointer != object)) {
        report_tag(pointer, INVALID_FREE);
    }
    return object;
}

static NOINLINE void free_untagged(void *pointer) {
    free_object(tag_rules_now() ? untag_object(pointer) : pointer);
}

/* The same for a small object in use. NULL: nothing is done; it may be another one, or no object. */
static ALWAYS_INLINE void *untag_small(void *pointer) {
    char *object = with_tag(pointer, 0);
    const struct slab *slab = slab_of(object);
    if (UNLIKELY(slab_has_key(slab, 0)) || UNLIKELY(!slab_has_start(object, slab)) ||
        UNLIKELY(tagged_as_memory(object) != pointer) || UNLIKELY(pointer == object))
        return NULL;
    take_tag(object, size_classes[slab->class].size, (uint8_t *)object + LAST_TAG_OF_SMALL, pointer);
    return object;
}

HIT_PATH JW_EXPORT void jw_free(void *pointer) {
    void *object = pointer;
    track_freed(pointer);
    if (tag_rules_now()) object = untag_small(pointer);
    if (LIKELY(object)) free_object(object);
    else free_untagged(pointer);
}

void tagged_free_of_size(void *pointer, size_t size) {
    void *object = pointer;
    track_freed(pointer);
    if (tag_rules_now()) {
        size = size_with_tag(size);
        object = untag_small(pointer);
        if (UNLIKELY(!object)) object = untag_object(pointer);
    }
    free_of_size(object, size);
}

void tagged_free_aligned_of_size(void *pointer, size_t alignment, size_t size) {
    track_freed(pointer);
    if (tag_rules_now()) free_aligned_of_size(untag_object(pointer), alignment, size_with_tag(size));
    else free_aligned_of_size(pointer, alignment, size);
}

/* --- realloc ---------------------------------------------------------------------------------------------------- */

/* The usable bytes of an object in use, of which `place` tells if it may have a tag. */
static size_t size_of_live(const void *pointer, struct tagged_place *place, bool *found) {
    *found = tagged_place_find(pointer, place);
    const void *memory = *found ? tagged_as_memory(place->object) : place->object;
    if (UNLIKELY(memory != pointer)) report_tag(pointer, INVALID_POINTER);
    /* memory with tag 0 may be a free object's */
    return memory != place->object ? place->size : object_size(place->object);
}

size_t tagged_object_size(const void *pointer) {
    struct tagged_place place;
    bool found;
    return tags_active ? size_of_live(pointer, &place, &found) : object_size(pointer);
}

/* Copies to a new object. A size that fits where the old one is needs no callback. */
static void *reallocate_tagged_anew(void *pointer, size_t size, size_t old) {
    bool fits = size <= old;
    int error = errno;
    bool calls_back = fits && limit_hold(true);
    void *moved = jw_malloc(size);
    if (fits) limit_hold(calls_back);
    if (LIKELY(moved)) {
        memcpy(moved, pointer, fits ? size : old);
        jw_free(pointer);
        return moved;
    }
    if (!fits) return NULL;
    errno = error;
    atomic_store_explicit(&shrunk_without_memory, true, memory_order_relaxed);
    track_freed(pointer);
    return track_allocated(pointer, size);
}

static void *keep_tagged_in_place(void *pointer, const struct tagged_place *place, size_t size) {
    size_t wanted = size_with_tag(size);
    bool as_new =
        place->small ? size_class_serves(slab_of(place->object)->class, wanted) : good_size(1, wanted) == place->size;
    if (!as_new) atomic_store_explicit(&shrunk_in_place, true, memory_order_relaxed);
    track_freed(pointer);
    return track_allocated(pointer, size);
}

static void *reallocate_told(void *object, size_t size, size_t old) {
    track_freed(object);
    return track_resized(object, old, reallocate(object, size), size);
}

void *tagged_reallocate(void *pointer, size_t size) {
    struct tagged_place place;
    bool found;
    if (!tags_active) return reallocate_told(pointer, size, is_tracking() ? object_size(pointer) : 0);
    size_t old = size_of_live(pointer, &place, &found);
    bool keeps = may_keep_in_place(old, size_with_tag(size));
    if (found) return keeps ? keep_tagged_in_place(pointer, &place, size) : reallocate_tagged_anew(pointer, size, old);
    /* an object with a tag needs a copy; where there is none, reallocate gives one without a tag */
    return keeps || size >= BACKEND_MIN ? reallocate_told(pointer, size, old)
                                        : reallocate_tagged_anew(pointer, size, old);
}

#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("jw_malloc")));
JW_EXPORT void free(void *object) __attribute__((alias("jw_free")));
SECOND_NAME(malloc, jw_malloc);
SECOND_NAME(free, jw_free);
#endif

#endif
