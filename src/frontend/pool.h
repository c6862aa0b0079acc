/* pool.h - a heap's pool: empty slabs of all classes, the most recently emptied first.
 *
 * The slabs are in a stack that the heap's thread owns (sync/owned_stack.h). A round of reclamation takes all of them
 * when the pool was hardly used since the round before. So a thread that sleeps keeps no pool: other threads' rounds
 * give it back. Client pool_round.
 */
#ifndef JW_POOL_H
#define JW_POOL_H

#include "frontend/slab.h"
#include "sync/hint_counter.h"
#include "sync/owned_stack.h"

struct pool {
    struct owned_stack slabs;
    struct hint_counter uses;    /* pushes and pops by the heap's thread */
    _Atomic(uint32_t) uses_seen; /* `uses` at the last round */
    uint32_t count;              /* slabs in it; more if a round has taken some. Rounds read it (pool_count) */
    uint32_t least;              /* the lowest count since pool_count_unused */
    uint32_t unused;             /* slabs that should go back */
};

/* Adds a slab. By the heap's thread only. */
void pool_push(struct pool *pool, struct slab *slab);

/* Removes the slab that was pushed last; NULL: there is none. By the heap's thread only. */
struct slab *pool_pop(struct pool *pool);

/* Finds how many slabs the heap has not used since the last call: half of them should go back. By the heap's thread
 * only. */
void pool_count_unused(struct pool *pool);

/* Lowers the number of slabs that should go back by at most `most`. Returns by how many: the caller pops these slabs.
 * By the heap's thread only. */
uint32_t pool_take_unused(struct pool *pool, uint32_t most);

/* Takes all slabs, linked by `next`. By any thread. */
struct slab *pool_take_all(struct pool *pool);

/* Begins a new period of use, with a round. True: the pool had little use in the last one. By any thread. */
bool pool_begin_period(struct pool *pool);

/* How many slabs it has, or more. By any thread. */
static inline uint32_t pool_count(const struct pool *pool) {
    return relaxed_load(&pool->count);
}

static inline bool pool_is_empty(const struct pool *pool) {
    return owned_stack_is_empty(&pool->slabs);
}

#endif
