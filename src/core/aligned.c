/* aligned.c - objects at a multiple of a power of two, and the size that such a request gets. */
#include "core/aligned.h"

#include "backend/huge.h"
#include "backend/large_object.h"
#include "core/allocate.h"
#include "core/route.h"
#include "core/start.h"
#include "midend/midend.h"

/* Size of the smallest class of the frontend that fits; 0: there is none. */
static ALWAYS_INLINE size_t small_size(size_t alignment, size_t size) {
    if (tier_of(size) != TIER_SMALL || alignment > FRONTEND_MAX) return 0;
    unsigned class = alignment <= 16 ? size_class_of(size) : size_class_of_aligned(alignment, size);
    return LIKELY(class < SIZE_CLASS_COUNT) ? size_classes[class].size : 0;
}

void *allocate_aligned(size_t alignment, size_t size) {
    if (size == 0) size = 1;
    if (alignment <= 16) return allocate(alignment > 8 && size <= 8 ? 16 : size);
    if (alignment <= GRANULE_SIZE && tier_of(size) >= TIER_LARGE) return allocate(size); /* begins with a granule */
    size_t small = small_size(alignment, size), dirty_bytes;
    return LIKELY(small) ? allocate(small) : allocate_above_small(size, alignment, &dirty_bytes);
}

size_t good_size(size_t alignment, size_t size) {
    if (size > PTRDIFF_MAX || !allocator_start()) return 0;
    if (size == 0) size = 1;
    if (alignment > 8 && size <= 8) size = 16;
    size_t small = small_size(alignment > 16 ? alignment : 1, size);
    if (small) return small;
    if (tier_of(size) < TIER_LARGE && alignment <= GRANULE_SIZE) return midend_good_size(size, alignment);
    return large_fits(size, alignment) ? large_good_size(size + large_slack(alignment)) : huge_good_size(size);
}
