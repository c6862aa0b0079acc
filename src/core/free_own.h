/* free_own.h - the hit path of a free by the heap that owns the object's slab, for free and for frees with a size. */
#ifndef JW_FREE_OWN_H
#define JW_FREE_OWN_H

#include "frontend/slab_free.h"

/* A budget has reached 0: the last object of a partial slab, the free that reopens a full one, the end of a local
 * list's budget; or misuse (slab_count_free). */
NOINLINE void free_own_slowly(struct slab *slab, struct free_target *target, void *object);

static ALWAYS_INLINE void push_freed(const struct slab *slab, struct free_target *target, void *object, uint64_t key) {
    slab_fill(slab, object);
    free_target_push(target, object, key);
}

/* Frees an object of the calling thread's heap. `key`: the key of this heap and of the slab. */
static ALWAYS_INLINE void free_own(struct slab *slab, void *object, uint64_t key) {
    struct free_target *target = slab->target;
    if (UNLIKELY(slab_count_free(slab, target, object))) free_own_slowly(slab, target, object);
    else push_freed(slab, target, object, key);
}

#endif
