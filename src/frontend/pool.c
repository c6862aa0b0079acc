#include "frontend/pool.h"

enum { LITTLE_USE = 4 }; /* pushes and takes between two rounds, below which a pool is better given back */

static void note_use(struct pool *pool) {
    uint32_t uses = atomic_load_explicit(&pool->uses, memory_order_relaxed);
    atomic_store_explicit(&pool->uses, uses + 1, memory_order_relaxed);
}

void pool_push(struct pool *pool, struct slab *slab) {
    struct slab *first = atomic_load_explicit(&pool->first, memory_order_relaxed);
    do {
        slab_id_set(&slab->own.next, first);
        if (!first) pool->count = 0;
        /* [PL1] release: the links and the slabs, for a round; pairs [PL3]; client pool_round */
    } while (
        !atomic_compare_exchange_weak_explicit(&pool->first, &first, slab, memory_order_release, memory_order_relaxed));
    pool->count++;
    note_use(pool);
}

/* relaxed: what the heap's thread finds it has put there itself */
static struct slab *take_own(struct pool *pool) {
    struct slab *first = NULL;
    if (!pool_is_empty(pool)) first = atomic_exchange_explicit(&pool->first, NULL, memory_order_relaxed);
    if (!first) pool->count = 0;
    return first;
}

static void put_back(struct pool *pool, struct slab *first) {
    atomic_store_explicit(&pool->first, first, memory_order_release); /* [PL2] as PL1; pairs [PL3]; client pool_round */
}

struct slab *pool_take(struct pool *pool) {
    struct slab *slab = take_own(pool);
    if (slab) {
        struct slab *next = slab_by_id(&slab->own.next);
        if (next) put_back(pool, next);
        pool->count--;
        note_use(pool);
    }
    if (pool->count < pool->least) pool->least = pool->count;
    return slab;
}

void pool_look(struct pool *pool) {
    pool->unused = (pool->least + 1) / 2;
    pool->least = pool->count;
}

uint32_t pool_unused(struct pool *pool, uint32_t most) {
    uint32_t unused = pool->unused < most ? pool->unused : most;
    pool->unused -= unused;
    return unused;
}

struct slab *pool_take_all(struct pool *pool) {
    if (pool_is_empty(pool)) return NULL;
    /* [PL3] acquire: the slabs; pairs [PL1] [PL2]; client pool_round */
    return atomic_exchange_explicit(&pool->first, NULL, memory_order_acquire);
}

bool pool_is_idle(struct pool *pool) {
    uint32_t uses = atomic_load_explicit(&pool->uses, memory_order_relaxed);
    return uses - atomic_exchange_explicit(&pool->uses_seen, uses, memory_order_relaxed) < LITTLE_USE;
}
