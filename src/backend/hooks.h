/* hooks.h - where the hardened build (hardened/) is connected with the tiers, which know nothing else of it.
 *
 * The table is constant and bound when the library is linked. So it stands in memory that cannot be written, where an
 * attacker would look for pointers to functions; and it is there before the first malloc, which may come before any
 * constructor. It is the one name that the layers below hardened/ use of it (tools/check_layers.py). The plain build
 * has no such table: each call stands behind JW_SECURE, a constant.
 */
#ifndef JW_HOOKS_H
#define JW_HOOKS_H

#include "backend/root.h"
#include "base/compiler.h"

struct heap;

struct hooks {
    /* Once, when the options have been read and before any object is made. */
    void (*at_start)(void);

    /* As backend_fetch and backend_place, for a slab of `weight` granules. */
    void *(*slab_fetch)(enum root_use use, uint32_t weight, bool *zeroed);
    void (*slab_place)(granule_id range, uint32_t weight);

    /* A small object of `size` bytes that was never given out is about to be listed. */
    void (*object_is_new)(char *object, size_t size);

    /* Whether an object that is in use as far as its tier knows has been freed by the program. */
    bool (*object_waits)(const char *object, size_t size);

    /* The thread of the heap ends: what waits goes to the allocator. */
    void (*thread_ends)(struct heap *heap);
};

extern const struct hooks hardened_hooks HIDDEN;

#endif
