/* pool_round - a round takes all of a pool while its thread adds two slabs and takes one.
 *
 * bound     2 threads: 2 pushes and 1 take by the owner, of a pool with 2 slabs; 1 round
 * property  every slab is in one thread's hands at a time, and none is lost
 */
#include "frontend/pool.h"
#include "verify/clients/client.h"

enum { SLABS = 4 };

static struct slab slabs[SLABS + 1]; /* the first would have number 0 */
static struct pool pool;
static bool given_back[SLABS + 1];
_Static_assert(sizeof(struct slab) == RECORD_SIZE, "the slabs are a table of records");

static void own(struct slab *slab) {
    slab->freed.budget = 1; /* a race, if it has two owners */
}

static void give_back(struct slab *slab) {
    for (struct slab *next; slab; slab = next) {
        next = slab_by_id(&slab->freed.next);
        own(slab);
        given_back[slab - slabs] = true;
    }
}

static void *round_of_reclamation(void *unused) {
    (void)unused;
    give_back(pool_take_all(&pool));
    return NULL;
}

int main(void) {
    page_map.records = (char *)slabs;
    pool_push(&pool, &slabs[1]);
    pool_push(&pool, &slabs[2]);
    pthread_t a = start(round_of_reclamation, NULL);
    pool_push(&pool, &slabs[3]);
    pool_push(&pool, &slabs[4]);
    struct slab *taken = pool_pop(&pool);
    if (taken) own(taken);
    finish(a);
    uint32_t count = 0;
    for (struct slab *slab = pool_take_all(&pool), *next; slab; slab = next, count++) {
        next = slab_by_id(&slab->freed.next);
        assert(slab != taken && !given_back[slab - slabs]);
        slab_id_put(&slab->freed.next, 0);
        give_back(slab);
    }
    assert(count <= pool.count);
    for (unsigned i = 1; i <= SLABS; i++) assert(given_back[i] != (taken == &slabs[i]));
    return 0;
}
