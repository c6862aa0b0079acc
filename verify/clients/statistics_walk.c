/* statistics_walk - the statistics' walk over all slabs while slabs are made and go back, the last one with its root.
 *
 * bound     2 threads: 1 walk; 1 slab of 2 objects that goes back, with a round that gives its root back
 * property  the walk ends, and counts no more than there is. The checker does not see plain reads of records, which
 *           are hidden from it (no_sanitize); that no record is read whose root is gone is not shown here
 */
#include "backend/thrift_buffers.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_statistics.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static void *walking(void *unused) {
    (void)unused;
    struct frontend_statistics statistics;
    frontend_statistics(&statistics);
    assert(statistics.reserved <= GRANULE_SIZE && statistics.classes[size_class_of(SIZE)].objects <= 2);
    return NULL;
}

int main(void) {
    start_allocator();
    heap_abandon(heap_take_or_create());
    pthread_t a = start(walking, NULL);
    give(get(SIZE, 1), SIZE, 1);
    heap_drain_own();
    thrift_reclaim(ownership_active(), true);
    finish(a);
    expect_nothing_left();
    return 0;
}
