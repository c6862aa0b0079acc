/* entry.c - the hardened build's malloc and free, which choose the way (entry_steps.h), and others (entry.h). */
#include "hardened/entry.h"

#include <string.h>

#include "config/options.h"
#include "core/route.h"
#include "core/tracking.h"
#include "hardened/entry_steps.h"
#include "hardened/zero_size.h"
#include "platform/features.h"

#if JW_WIDE
#define malloc_usually malloc_wide
#define free_usually free_wide
#else
#define malloc_usually(size) malloc_by(size, true)
#define free_usually(object) free_by(object, true)
#endif

static NOINLINE void *malloc_unusually(size_t size) {
    return track_allocated(malloc_by(size, false), size);
}

JW_EXPORT void *jw_malloc(size_t size) {
    return LIKELY(secrets.usual) ? malloc_usually(size) : malloc_unusually(size);
}

void *hardened_allocate_zeroed(size_t size) {
    if (slot_for(size) >= BACKEND_MIN) return track_allocated(allocate_sealed(size, true), size);
    void *object = jw_malloc(size);
    return object && !option(&options.zero_on_free) ? memset(object, 0, size) : object;
}

void *hardened_allocate_aligned(size_t alignment, size_t size) {
    if (alignment <= 16) return jw_malloc(size);
    return track_allocated(allocate_aligned_unusual(alignment, size), size);
}

static NOINLINE void free_tracked(void *object) {
    track_freed(object);
    free_unusually(object);
}

/* Of NULL, too: no slab is there. */
JW_EXPORT void jw_free(void *object) {
    if (LIKELY(secrets.usual)) free_usually(object);
    else free_tracked(object);
}

/* Whether the size is the one in the trailer. A slack of SLACK_MOST may be longer in truth (seal.h). */
static bool has_told_size(const struct opened *opened, size_t size) {
    size_t exact = size_of_opened(opened);
    return size == exact || size == SIZE_UNKNOWN || (size < exact && opened->slack == SLACK_MOST);
}

static NOINLINE void check_told(void *object, size_t alignment, size_t size) {
    struct opened opened;
    if (object && open_object(object, &opened, DOUBLE_FREE)) {
        char *start = opened.object;
        if (((uintptr_t)start | alignment) & (alignment - 1)) misuse(WRONG_ALIGNMENT, start, alignment);
        if (!has_told_size(&opened, size)) misuse(WRONG_SIZE, start, size);
    }
    if (size != 0 && size != SIZE_UNKNOWN && zero_size_owns(object)) misuse(WRONG_SIZE, object, size);
}

/* Whether a small object has that alignment, and its trailer tells that size. The trailer may be wrong: free looks at
 * it. */
static ALWAYS_INLINE bool tells_size(const void *pointer, size_t alignment, size_t size) {
    const char *object = (const char *)with_tag(pointer, 0);
    const struct slab *slab = slab_of(object);
    if (slab_has_key(slab, 0) || !slab_has_start(object, slab) || (sizeof(void *) < 8 && !page_map_owns_fast(object)))
        return false;
    const size_t slot = size_classes[slab->class].size;
    return size + trailer_short_slack(trailer_word_of(object, slot)) == slot - TRAILER_SIZE &&
           !(((uintptr_t)object | alignment) & (alignment - 1));
}

/* Frees an object, and compares the size with the exact size in the trailer. */
void hardened_free_aligned_of_size(void *object, size_t alignment, size_t size) {
    if (LIKELY(option(&options.check_sizes)) && UNLIKELY(!tells_size(object, alignment, size)))
        check_told(object, alignment, size);
    jw_free(object);
}

size_t hardened_object_size(const void *object) {
    struct opened opened;
    if (open_object(object, &opened, INVALID_POINTER)) return size_of_opened(&opened);
    if (!zero_size_owns(object)) return object_size(opened.object);
    zero_size_check(object);
    return 0;
}

size_t hardened_good_size(size_t alignment, size_t size) {
    return good_size(alignment, slot_for(size)) ? size : 0;
}

#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("jw_malloc")));
JW_EXPORT void free(void *object) __attribute__((alias("jw_free")));
SECOND_NAME(malloc, jw_malloc);
SECOND_NAME(free, jw_free);
#endif
