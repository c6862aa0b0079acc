/* at_hand_free_twice - two threads free the same large object, each to have its range at hand: a misuse.
 *
 * bound     2 threads: 1 free each
 * property  one of the two is told; the other has the range
 */
#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct at_hand at_hands[2];
static void *object;
static _Atomic(unsigned) told;

static void *freeing(void *at_hand) {
    at_hand_enter(at_hand);
    granule_id range = backend_take_whole(object);
    if (range) backend_keep(at_hand, range);
    else atomic_fetch_add_explicit(&told, 1, memory_order_relaxed);
    at_hand_enter(NULL);
    return NULL;
}

int main(void) {
    bool zeroed;
    begin();
    object = backend_allocate(SIZE, 1, &zeroed);
    assert(object);
    pthread_t a = start(freeing, &at_hands[0]), b = start(freeing, &at_hands[1]);
    finish(a);
    finish(b);
    assert(atomic_load_explicit(&told, memory_order_relaxed) == 1);
    assert(at_hand_granules(&at_hands[0]) + at_hand_granules(&at_hands[1]) == 2);
    for (size_t i = 0; i < 2; i++) at_hand_drain(&at_hands[i], true);
    end();
    return 0;
}
