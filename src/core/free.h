/* free.h - free: the hit paths of small objects. All other addresses go on to route_free.c. The path of an object
 * that the calling thread's heap owns is here, as frees with a size (sized.c) take it, too. */
#ifndef JW_FREE_H
#define JW_FREE_H

#include "base/compiler.h"
#include "frontend/slab_free.h"

/* Frees an object, or reports what is wrong with the address and aborts. NULL: does nothing. */
void free_object(void *object);

#if !JW_SECURE
/* The exported name of free_object. The hardened build has its own jw_free (hardened/entry.h). */
void jw_free(void *object);
#endif

/* Finishes a free for which slab_count_free has returned true. Either no object in use begins there. Or the budget is
 * spent: by the last object of a partial slab, by the free that reopens a full one, or by frees to a local list. */
void free_own_slowly(struct slab *slab, struct free_target *target, void *object);

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
