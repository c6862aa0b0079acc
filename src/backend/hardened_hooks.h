/* hardened_hooks.h - the table that connects the tiers with the hardened build (hardened/).
 *
 * The table is constant and bound when the library is linked. So it is in read-only memory, where an attacker cannot
 * change its function pointers. And it is ready before the first malloc, which may come before any constructor. The
 * table is the only name of hardened/ that the layers below use (tools/check_layers.py). The plain build has no such
 * table: each call stands behind JW_SECURE, a constant. Where a call would cost too much, a tier tests a constant of
 * base/mitigations.h.
 */
#ifndef JW_HARDENED_HOOKS_H
#define JW_HARDENED_HOOKS_H

#include "backend/root.h"
#include "base/compiler.h"

struct heap;
struct backend_statistics;

struct hardened_hooks {
    /* Called once, after the options were read and before any object is made. */
    void (*at_start)(void);

    /* As backend_fetch and backend_place, for a slab of `weight` granules of that region (slab_source.h). */
    void *(*slab_fetch)(unsigned region, uint32_t weight, bool *zeroed);
    void (*slab_place)(unsigned region, granule_id range, uint32_t weight);

    /* The range of a freed large object that may have that weight. 0: none waits. *zeroed: nothing but zeros. */
    granule_id (*large_fetch)(uint32_t weight, bool *zeroed);

    /* Called before small objects of `size` bytes, side by side, that were never given out come into a list. */
    void (*objects_are_new)(char *first, size_t count, size_t size);

    /* Whether the program has freed an object that its tier counts as in use. */
    bool (*object_waits)(const char *object, size_t size);

    /* Moves empty slabs, and large objects in quarantine, from the bytes in use to the cached ones. */
    void (*leave_out_unused)(struct backend_statistics *statistics);

    /* The child of a fork begins: it must not repeat its parent's random numbers. */
    void (*child_begins)(void);

    /* Chooses the usual way of malloc and free or the other one, by what is switched on (core/tracking.h). */
    void (*choose_way)(void);

    /* The heap's thread ends: its quarantined objects go to the allocator. */
    void (*thread_ends)(struct heap *heap);
};

extern const struct hardened_hooks hardened_hooks HIDDEN;

#endif
