/* pool.c - a heap's empty slabs: the owner pushes and pops, a round takes all. */
#include "frontend/pool.h"

#include "config/policy.h"

static uint32_t next_of(uint32_t slab) {
    return slab_id_get(&((struct slab *)record_at(slab))->freed.next);
}

static void set_next_slab(uint32_t slab, uint32_t next) {
    slab_id_put(&((struct slab *)record_at(slab))->freed.next, next);
}

static struct slab *slab_or_null(uint32_t slab) {
    return slab ? record_at(slab) : NULL;
}

static void set_count(struct pool *pool, uint32_t count) {
    relaxed_store(&pool->count, count);
}

void pool_push(struct pool *pool, struct slab *slab) {
    if (owned_stack_push(&pool->slabs, record_id(slab), set_next_slab) == 0) set_count(pool, 0);
    set_count(pool, pool->count + 1);
    hint_counter_add(&pool->uses);
}

struct slab *pool_pop(struct pool *pool) {
    struct slab *slab = slab_or_null(owned_stack_pop(&pool->slabs, next_of));
    if (slab) {
        set_count(pool, pool->count - 1);
        hint_counter_add(&pool->uses);
    } else {
        set_count(pool, 0);
    }
    if (pool->count < pool->least) pool->least = pool->count;
    return slab;
}

void pool_count_unused(struct pool *pool) {
    pool->unused = (pool->least + POOL_UNUSED_PART - 1) / POOL_UNUSED_PART;
    pool->least = pool->count;
}

uint32_t pool_take_unused(struct pool *pool, uint32_t most) {
    uint32_t unused = pool->unused < most ? pool->unused : most;
    pool->unused -= unused;
    return unused;
}

struct slab *pool_take_all(struct pool *pool) {
    return slab_or_null(owned_stack_take_all(&pool->slabs));
}

bool pool_begin_period(struct pool *pool) {
    uint32_t uses = hint_counter_read(&pool->uses);
    return uses - atomic_exchange_explicit(&pool->uses_seen, uses, memory_order_relaxed) < POOL_LITTLE_USE;
}
