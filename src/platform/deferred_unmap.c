/* deferred_unmap.c - unmapping now, or later where the OS refuses. */
#include "platform/deferred_unmap.h"

#include "platform/platform.h"
#include "platform/platform_policy.h"
#include "sync/pointer_stack.h"

/* `oldest`: the last one of the chain that was pushed with this one as its first. Behind it the search for the end of
 * the stack goes on, and passes by the others: each of thousands costs a page that is not in the processor's cache. */
struct deferred {
    struct stack_link link;
    size_t size;
    struct deferred *oldest;
};

static struct pointer_stack refused_mappings;

wide_bool unmap_or_defer(void *address, size_t size) {
    if (size == 0 || platform_unmap(address, size)) return true;
    platform_discard(address, size);
    struct deferred *mapping = address;
    mapping->size = size;
    mapping->oldest = mapping;
    pointer_stack_push(&refused_mappings, &mapping->link, &mapping->link);
    return false;
}

void unmap_readable(void *address, size_t size) {
    if (platform_unmap(address, size)) return;
    if (platform_protect(address, size, true)) unmap_or_defer(address, size); /* which writes the link */
}

wide_bool unmap_deferred(void) {
    struct deferred *first = (struct deferred *)pointer_stack_take_all(&refused_mappings), *next;
    unsigned refused = 0;
    for (; first && refused < JW_DEFERRED_UNMAP_TRIES; first = next) {
        next = (struct deferred *)first->link.next;
        if (first->oldest != first) next->oldest = first->oldest;
        refused += !unmap_or_defer(first, first->size);
    }
    if (first) { /* the untried ones go on top, so that the next try begins with them */
        struct deferred *oldest = first->oldest;
        while ((next = (struct deferred *)oldest->link.next)) oldest = next->oldest;
        first->oldest = oldest;
        pointer_stack_push(&refused_mappings, &first->link, &oldest->link);
    }
    return refused > 0;
}
