/* at_hand_resized - large objects that have grown or shrunk, and one of a single granule, are freed with their weight.
 *
 * bound     1 thread: 3 objects, one resized each way
 * property  what is at hand is as large as the object was at last
 * defines   -DJW_AT_HAND_WAYS=2
 */
#include "verify/clients/ranges.h"

static struct at_hand at_hand;

static void keep(void *object, uint32_t granules) {
    size_t before = at_hand_granules(&at_hand);
    granule_id range = backend_take_whole(object);
    assert(range && knit_weight(range) == granules);
    backend_keep(&at_hand, range);
    assert(at_hand_granules(&at_hand) == before + granules);
}

int main(void) {
    bool zeroed;
    begin();
    at_hand_enter(&at_hand);
    char *shrunk = backend_allocate(3 * GRANULE_SIZE, 1, &zeroed), *one = backend_allocate(GRANULE_SIZE, 1, &zeroed);
    char *grown = backend_allocate(2 * GRANULE_SIZE, 1, &zeroed);
    assert(shrunk && one && grown);
    bool resized = backend_shrink(shrunk, 2 * GRANULE_SIZE);
    assert(resized);
    keep(shrunk, 2);
    resized = backend_grow(grown, 3 * GRANULE_SIZE);
    if (resized) keep(grown, 3);
    assert(resized);
    keep(one, 1);
    at_hand_drain(&at_hand, true);
    at_hand_enter(NULL);
    end();
    return 0;
}
