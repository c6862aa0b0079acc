/* sized.c - frees with a size or an alignment: reports a value that does not fit the object, unless the option
 * check_sizes forbids that. */
#include "core/sized.h"

#include "backend/huge.h"
#include "backend/large_object.h"
#include "config/options.h"
#include "core/aligned.h"
#include "core/describe.h"
#include "core/realloc.h"
#include "midend/midend.h"
#include "platform/misuse.h"

/* Whether this is a mid object, and the size belongs to its class. */
static ALWAYS_INLINE bool has_mid_class(const void *object, size_t size) {
    struct leaf_word leaf = leaf_of(object);
    return leaf_kind(leaf) == MID && size - FRONTEND_MAX - 1 < BACKEND_MIN - FRONTEND_MAX - 1 &&
           leaf_class(leaf) == mid_class_of(size);
}

/* Whether realloc may have left the object in place with this smaller size. */
static COLD wide_bool was_shrunk(const struct found *found, size_t size) {
    if (atomic_load_explicit(&shrunk_without_memory, memory_order_relaxed)) return true;
    if (!atomic_load_explicit(&shrunk_in_place, memory_order_relaxed)) return false;
    return may_keep_in_place(found->size, size) || (found->tier == TIER_HUGE && size > BACKEND_MAX);
}

static COLD wide_bool has_size(const struct found *found, size_t alignment, size_t size) {
    size_t good = good_size(alignment, size);
    if (size > found->size) return false;
    if (found->size == good || was_shrunk(found, size)) return true;
    if (found->tier == TIER_SMALL) return size_class_serves((uint8_t)size_class_of(found->size), good);
    /* a mapping also serves a size for which the backend has no range, or none with pages */
    if (found->tier == TIER_HUGE) return huge_may_serve(found->size, size) || huge_may_serve(found->size, good);
    /* a range also serves a size for which the midend has no memory, and a cached one each whose class has more than
     * half of it; an alignment may leave fewer usable bytes */
    return found->tier == TIER_LARGE &&
           (found->size < 2 * large_good_size(size) || (alignment > GRANULE_SIZE && found->size < good));
}

static COLD void check_sized(const void *object, size_t alignment, size_t size) {
    struct found found;
    if (!object || !option(&options.check_sizes)) return;
    describe(object, &found);
    if (found.state != FOUND_IN_USE) return; /* free will report the error */
    if (((uintptr_t)object | alignment) & (alignment - 1)) misuse(WRONG_ALIGNMENT, object, alignment);
    if (size != SIZE_UNKNOWN && !has_size(&found, alignment, size)) misuse(WRONG_SIZE, object, size);
}

void free_aligned_of_size(void *object, size_t alignment, size_t size) {
    if (UNLIKELY(alignment != 1 || !has_mid_class(object, size))) check_sized(object, alignment, size);
    free_object(object);
}

NOINLINE void free_of_size_slowly(void *object, size_t size) {
    struct slab *slab = slab_of(object);
    bool right = size_class_serves(slab->class, size);
    if (LIKELY(right && !slab_has_key(slab, 0))) free_object(object);
    else free_aligned_of_size(object, 1, size);
}

HIT_BESIDE void free_of_size(void *object, size_t size) {
    if (UNLIKELY(!free_own_of_size(&sizes_served, object, size))) free_of_size_slowly(object, size);
}
