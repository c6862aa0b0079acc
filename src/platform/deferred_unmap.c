/* deferred_unmap.c - unmapping now, or later where the OS refuses; and mappings where it refuses new ones. */
#include "platform/deferred_unmap.h"

#include "base/near.h"
#include "platform/platform.h"
#include "platform/platform_policy.h"
#include "sync/pointer_stack.h"

#include <string.h>

/* `oldest`: the last one of the chain that was pushed with this one as its first. Behind it the search for the end of
 * the stack goes on, and passes by the others: each of thousands costs a page that is not in the processor's cache. */
struct deferred {
    struct stack_link link;
    size_t size;
    struct deferred *oldest;
};

static struct pointer_stack refused_mappings;
static _Atomic(size_t) deferred_total;

size_t deferred_bytes(void) {
    return NEAR_LOAD(deferred_total);
}

static void keep_deferred(struct deferred *mapping) {
    mapping->oldest = mapping;
    /* before the push: a thread that takes the mapping subtracts its size */
    atomic_fetch_add_explicit(&deferred_total, mapping->size, memory_order_relaxed);
    pointer_stack_push(&refused_mappings, &mapping->link, &mapping->link);
}

wide_bool unmap_or_defer(void *address, size_t size) {
    if (size == 0 || platform_unmap(address, size)) return true;
    struct deferred *mapping = address; /* its first page stays: to discard it would be to fault it in again */
    platform_discard(mapping + 1, size - sizeof *mapping);
    mapping->size = size;
    keep_deferred(mapping);
    return false;
}

void unmap_readable(void *address, size_t size) {
    if (platform_protect(address, size, true)) unmap_or_defer(address, size); /* which may write a link */
    else platform_unmap(address, size);
}

uintptr_t search_deferred(size_t size) {
    struct deferred *first = (struct deferred *)pointer_stack_take_all(&refused_mappings), *next;
    uintptr_t result = false;
    for (int looks = DEFERRED_LOOKS; first && looks > 0;) {
        struct deferred *mapping = first;
        first = (struct deferred *)mapping->link.next;
        atomic_fetch_sub_explicit(&deferred_total, mapping->size, memory_order_relaxed);
        if (mapping->oldest != mapping) first->oldest = mapping->oldest;
        if (mapping->size >= size) {
            result = (uintptr_t)mapping;
            break;
        }
        if (size < SIZE_MAX) {
            keep_deferred(mapping);
            looks--;
        } else {
            if (unmap_or_defer(mapping, mapping->size)) continue;
            looks -= DEFERRED_LOOKS / JW_DEFERRED_UNMAP_TRIES;
        }
        result = true;
    }
    if (first) { /* the untried ones go on top, so that the next try begins with them */
        struct deferred *oldest = first->oldest;
        while ((next = (struct deferred *)oldest->link.next)) oldest = next->oldest;
        first->oldest = oldest;
        pointer_stack_push(&refused_mappings, &first->link, &oldest->link);
    }
    return result;
}

void *take_deferred(size_t *size) {
    uintptr_t found = search_deferred(*size);
    if (found <= true) return NULL;
    struct deferred *mapping = (struct deferred *)found; // NOLINT(performance-no-int-to-ptr)
    *size = mapping->size;
    if (!platform_protect(mapping, *size, true)) {
        unmap_or_defer(mapping, *size);
        return NULL;
    }
    if (!platform_discard(mapping, *size)) memset(mapping, 0, *size);
    return mapping;
}
