/* pool.h - a heap's pool: empty slabs of all classes, the most recently emptied first.
 *
 *   first    NULL or slab -> slab    push: the heap's thread, by compare-exchange
 *            slab -> NULL            take: the heap's thread, which puts back what it does not need, or a round of
 *                                    reclamation, which takes all when the pool was hardly used since the round before
 *            NULL -> slab            putting back: the heap's thread. Nobody else ever fills the word
 *
 * So a thread that sleeps keeps no pool: other threads' rounds give it back. Progress: lock-free; a push repeats only
 * when a round has emptied the pool meanwhile.
 */
#ifndef JW_POOL_H
#define JW_POOL_H

#include "frontend/slab.h"

enum { POOL_ROUND_FROM = 32 }; /* slabs from which the reclamation thread should know of a pool */

struct pool {
    _Atomic(struct slab *) first;
    _Atomic(uint32_t) uses, uses_seen; /* pushes and takes by the heap's thread; how many at the last round */
    uint32_t count, least;             /* slabs in it, or more; the least of that since the last look */
    uint32_t unused;                   /* that should go */
};

/* By the heap's thread only. */
void pool_push(struct pool *pool, struct slab *slab);

/* The slab that was pushed last, NULL when there is none. By the heap's thread only. */
struct slab *pool_take(struct pool *pool);

/* Counts what the heap has had no use for since the last call: half of it should go. By the heap's thread only. */
void pool_look(struct pool *pool);

/* How many should go now, of those, at most so many at a time. By the heap's thread only. */
uint32_t pool_unused(struct pool *pool, uint32_t most);

/* All slabs, linked by `next`. By any thread. */
struct slab *pool_take_all(struct pool *pool);

/* A round's question: whether the pool had little use since the last round. By any thread. */
bool pool_is_idle(struct pool *pool);

static inline bool pool_is_empty(const struct pool *pool) {
    return !atomic_load_explicit(&pool->first, memory_order_relaxed);
}

#endif
