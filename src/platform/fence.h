/* fence.h - mappings for metadata, in a random part of the address space, with nothing mapped on both sides. In the
 * hardened build they lie between two pages without access, also where there is no such part. So an overflow of
 * neighbouring memory ends in a fault. Inline: in the plain build each function is one call. */
#ifndef JW_FENCE_H
#define JW_FENCE_H

#include "base/mitigations.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"

/* Reserves whole pages with a fence; without it where the kernel refuses. */
static inline void *fenced_reserve(size_t size, const char *name) {
    if (!GUARDED) return platform_reserve_apart(size, name);
    size_t page = platform_page_size();
    char *area = (char *)platform_reserve_apart(size + 2 * page, name);
    if (!area) return NULL;
    platform_protect(area, page, false);
    platform_protect(area + page + size, page, false);
    return area + page;
}

/* A deferred unmap writes its link to the first page. Where the kernel refuses to make the fence writable, the fences
 * stay mapped. */
static inline void fenced_unmap(void *address, size_t size) {
    size_t fence = GUARDED ? platform_page_size() : 0;
    char *area = (char *)address - fence;
    if (fence && !platform_protect(area, fence, true)) unmap_or_defer(address, size);
    else unmap_or_defer(area, size + 2 * fence);
}

#endif
