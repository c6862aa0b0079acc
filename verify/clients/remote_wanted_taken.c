/* remote_wanted_taken - memory is short, and the owner looks at a full slab to which all objects have come back, while
 * a round may take it. Then the owner needs objects of the class.
 *
 * bound     2 threads: 1 round that gives all back; the owner, which allocates 4 objects; a slab of 4 objects, which
 *           others have freed
 * property  the owner notices that a round has taken the slab; no object is given out twice, no slab or page is lost
 * defines   -DJW_REOPEN_SHARE=2
 */
#include "frontend/heap_slabs.h"
#include "verify/clients/remote.h"

enum { SIZE = 64, SLAB = 4 };

int main(void) {
    begin(SIZE, SLAB + 1); /* the fifth is of another slab */
    struct slab *full = slab_of(objects[0]);
    for (size_t i = 0; i < SLAB; i++) finish(start_free(i));
    pthread_t other = start(remote_round, ALL);
    heap_want_slab(full);
    finish(other);
    for (size_t i = 0; i < SLAB; i++) objects[i] = get(SIZE, i);
    for (size_t i = 0; i <= SLAB; i++) give(objects[i], SIZE, i);
    expect_nothing_left();
    return 0;
}
