/* pool_trim - a thread shortens its pool, then takes from it, while a round takes all of it.
 *
 * bound     2 threads: 1 trim to 2 slabs and 1 take by the owner, of a pool with 4 slabs; 1 round
 * property  every slab is in one thread's hands at a time, and none is lost; the oldest go first
 */
#include "frontend/pool.h"
#include "verify/clients/client.h"

enum { SLABS = 4, KEPT = 2 };

static struct slab slabs[SLABS];
static struct pool pool;
static bool found[SLABS];

static void note(struct slab *slab) {
    for (struct slab *next; slab; slab = next) {
        next = slab->next;
        slab->budget = 1; /* a race, if it has two owners */
        assert(!found[slab - slabs]);
        found[slab - slabs] = true;
    }
}

static void *round_of_reclamation(void *unused) {
    (void)unused;
    note(pool_take_all(&pool));
    return NULL;
}

int main(void) {
    for (unsigned i = 0; i < SLABS; i++) pool_push(&pool, &slabs[i]);
    pthread_t a = start(round_of_reclamation, NULL);
    struct slab *rest = pool_trim(&pool, KEPT);
    assert(!rest || rest == &slabs[SLABS - KEPT - 1]);
    note(rest);
    struct slab *taken = pool_take(&pool);
    if (taken) {
        assert(taken == &slabs[SLABS - 1]);
        taken->next = NULL;
        note(taken);
    }
    finish(a);
    note(pool_take_all(&pool));
    for (unsigned i = 0; i < SLABS; i++) assert(found[i]);
    return 0;
}
