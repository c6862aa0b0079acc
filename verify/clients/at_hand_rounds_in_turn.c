/* at_hand_rounds_in_turn - what one thread after the other sees of ranges at hand.
 *
 * bound     1 thread: frees, allocations and rounds, one after the other
 * property  a range is at hand for its class, and for a smaller object where memory without pages would come; there are
 *           no more than the limit says; a range that was not used between two rounds goes back without pages, one
 *           that was used stays; no range is at hand of a heap without a thread
 * defines   -DJW_AT_HAND_WAYS=2
 */
#include "config/policy.h"
#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct at_hand at_hand, late, nobodys;

static void *allocated(size_t size) {
    bool zeroed;
    void *object = backend_allocate_at_hand(&at_hand, size);
    if (!object) object = backend_allocate(size, 1, &zeroed);
    assert(object && backend_usable_size(object) >= size);
    fill(object, size, 1);
    return object;
}

static void keep(struct at_hand *of, void *object, size_t size) {
    expect(object, size, 1);
    granule_id range = backend_take_whole(object);
    assert(range && backend_usable_size(object) == 0 && backend_take_whole(object) == 0);
    backend_keep(of, range);
}

static void rounds(size_t first, size_t second) {
    bool left = at_hand_drain(&at_hand, false);
    assert(left == (first > 0) && at_hand_granules(&at_hand) == first);
    at_hand_drain(&at_hand, false);
    assert(at_hand_granules(&at_hand) == second);
}

int main(void) {
    begin();
    at_hand_enter(&at_hand);
    void *one = allocated(SIZE), *two = allocated(SIZE), *three = allocated(SIZE);
    keep(&nobodys, three, SIZE);
    assert(at_hand_granules(&nobodys) == 0 && range_cached(MAPPED) == 2);
    three = allocated(SIZE);
    keep(&at_hand, one, SIZE);
    keep(&at_hand, two, SIZE);
    assert(at_hand_granules(&at_hand) == 4 && range_cached(MAPPED) == 0);
    keep(&at_hand, three, SIZE); /* there are two ways */
    assert(at_hand_granules(&at_hand) == 4 && range_cached(MAPPED) == 2);
    range_place(range_acquire(FOR_SLABS, MAPPED, 2), UNMAPPED);
    two = backend_allocate_at_hand(&at_hand, SIZE);
    assert(two == one && at_hand_granules(&at_hand) == 2); /* the first one */
    fill(two, SIZE, 1);
    at_hand_drain(&at_hand, false);
    keep(&at_hand, two, SIZE);
    rounds(2, 0); /* the one that was at hand is old, the other is not, and then is */
    assert(range_cached(MAPPED) == 0 && root_count() == 0);
    one = allocated(2 * SIZE);
    keep(&at_hand, one, 2 * SIZE);
    two = allocated(SIZE); /* a larger range is at hand, and is cut, before memory without pages comes into use */
    assert(two == one && at_hand_granules(&at_hand) == 0 && range_cached(MAPPED) == 2);
    for (unsigned i = 0; i < 2 * AT_HAND_PERIOD; i++) {
        keep(&at_hand, two, SIZE);
        two = allocated(SIZE);
    }
    assert(at_hand.room == at_hand.most); /* nothing is at hand, and the thread knows it */
    options.cache_min = 3 * GRANULE_SIZE; /* two wait already */
    at_hand_enter(&late);
    keep(&late, two, SIZE);
    assert(at_hand_granules(&late) == 0);
    at_hand_enter(NULL);
    end();
    return 0;
}
