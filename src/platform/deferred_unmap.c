/* deferred_unmap.c - unmapping now, or later where the OS refuses. */
#include "platform/deferred_unmap.h"

#include "platform/platform.h"
#include "platform/platform_policy.h"
#include "sync/pointer_stack.h"

struct deferred {
    struct stack_link link;
    size_t size;
};

static struct pointer_stack refused_mappings;

wide_bool unmap_or_defer(void *address, size_t size) {
    if (size == 0 || platform_unmap(address, size)) return true;
    platform_discard(address, size);
    struct deferred *mapping = address;
    mapping->size = size;
    pointer_stack_push(&refused_mappings, &mapping->link, &mapping->link);
    return false;
}

void unmap_readable(void *address, size_t size) {
    if (platform_unmap(address, size)) return;
    if (platform_protect(address, size, true)) unmap_or_defer(address, size); /* which writes the link */
}

wide_bool unmap_deferred(void) {
    struct stack_link *first = pointer_stack_take_all(&refused_mappings);
    if (!first) return false;
    for (unsigned refused = 0; first && refused < JW_DEFERRED_UNMAP_TRIES;) {
        struct stack_link *next = first->next;
        refused += !unmap_or_defer(first, ((struct deferred *)first)->size);
        first = next;
    }
    if (first) { /* the untried ones go on top, so that the next try begins with them */
        struct stack_link *last = first;
        while (last->next) last = last->next;
        pointer_stack_push(&refused_mappings, first, last);
    }
    return !pointer_stack_is_empty(&refused_mappings);
}
