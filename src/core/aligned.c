/* aligned.c - objects at a multiple of a power of two, and the size that such a request gets. */
#include "core/aligned.h"

#include "backend/huge.h"
#include "backend/large_object.h"
#include "core/allocate.h"
#include "core/route.h"
#include "core/start.h"
#include "midend/midend.h"

/* Size of the smallest class of the frontend that fits; 0: there is none. */
static size_t small_size(size_t alignment, size_t size) {
    if (tier_of(size) != TIER_SMALL || alignment > FRONTEND_MAX) return 0;
    unsigned class = alignment <= 16 ? size_class_of(size) : size_class_of_aligned(alignment, size);
    return LIKELY(class < SIZE_CLASS_COUNT) ? size_classes[class].size : 0;
}

/* The same of the midend. */
static size_t mid_size(size_t alignment, size_t size) {
    return tier_of(size) < TIER_LARGE && alignment <= GRANULE_SIZE ? midend_good_size(size, alignment) : 0;
}

/* Size of the smallest class that fits; 0: there is none. */
static NOINLINE size_t class_size_of(size_t alignment, size_t size) {
    size_t small = small_size(alignment, size);
    return small ? small : mid_size(alignment, size);
}

/* An object of a class has the alignment of its size, so a request for that size gets one. */
void *allocate_aligned(size_t alignment, size_t size) {
    size_t dirty_bytes;
    if (size == 0) size = 1;
    if (alignment <= 16) return allocate(alignment > 8 && size <= 8 ? 16 : size);
    if (alignment <= GRANULE_SIZE && tier_of(size) >= TIER_LARGE) return allocate(size); /* begins with a granule */
    size_t class_size = class_size_of(alignment, size);
    return LIKELY(class_size) ? allocate(class_size) : allocate_above_small(size, alignment, &dirty_bytes);
}

size_t good_size(size_t alignment, size_t size) {
    if (size > PTRDIFF_MAX || !allocator_start()) return 0;
    if (size == 0) size = 1;
    if (alignment > 8 && size <= 8) size = 16;
    size_t class_size = class_size_of(alignment > 16 ? alignment : 1, size);
    if (class_size) return class_size;
    return large_fits(size, alignment) ? large_good_size(size + large_slack(alignment)) : huge_good_size(size);
}
