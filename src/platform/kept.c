#include "platform/kept.h"

#include "platform/platform.h"

/* An OS that refuses for good costs no more calls than this each time. */
#ifndef JW_KEPT_TRIES
#define JW_KEPT_TRIES 8
#endif

struct kept {
    struct kept *next;
    size_t size;
};

static _Atomic(struct kept *) kept;

static void link_kept(struct kept *first, struct kept *last) {
    struct kept *next = atomic_load_explicit(&kept, memory_order_relaxed);
    do last->next = next;
    /* [KM1] release: the links; pairs [KM2]; client kept_mappings */
    while (!atomic_compare_exchange_weak_explicit(&kept, &next, first, memory_order_release, memory_order_relaxed));
}

bool unmap_or_keep(void *address, size_t size) {
    if (size == 0 || platform_release(address, size)) return true;
    platform_discard(address, size);
    struct kept *mapping = address;
    mapping->size = size;
    link_kept(mapping, mapping);
    return false;
}

bool unmap_kept(void) {
    if (!atomic_load_explicit(&kept, memory_order_relaxed)) return false;
    /* [KM2] acquire: the links; pairs [KM1]; client kept_mappings */
    struct kept *first = atomic_exchange_explicit(&kept, NULL, memory_order_acquire);
    for (unsigned tries = 0; first && tries < JW_KEPT_TRIES; tries++) {
        struct kept *next = first->next;
        unmap_or_keep(first, first->size);
        first = next;
    }
    if (first) { /* on top of those just tried: they come first the next time */
        struct kept *last = first;
        while (last->next) last = last->next;
        link_kept(first, last);
    }
    return atomic_load_explicit(&kept, memory_order_relaxed) != NULL;
}
