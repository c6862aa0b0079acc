/* progress_mappings - a thread frees and allocates huge objects, or drains their cache, and may stop for good at any of
 * its steps: while it has the only entry of the cache in its hands, or a mapping that is in no entry. Then another
 * thread does all of this.
 *
 * bound     2 threads: 1 free and 1 allocation, or 1 drain | then 1 allocation, 2 frees and 1 purge; 1 mapping may wait
 * property  no operation waits for another thread: each ends, whatever step the other has stopped at; no object is
 *           given out twice
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1
 */
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "verify/clients/ranges.h"

static uint64_t *make(uint64_t value) {
    uint64_t *object = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(object);
    object[0] = value;
    return object;
}

static void unmake(uint64_t *object, uint64_t value) {
    assert(object[0] == value);
    huge_free(object);
}

static void *stopping(void *object) {
    checker_may_stop(true);
    if (checker_choose(2)) {
        mapping_cache_drain(ANY_BUFFER, 1);
        return NULL;
    }
    unmake(object, 1);
    make(2);
    return NULL;
}

int main(void) {
    begin();
    uint64_t *first = make(1), *second = make(3);
    unmake(make(4), 4); /* waits in the cache */
    finish(start(stopping, first));
    unmake(second, 3);
    unmake(make(5), 5);
    thrift_purge();
    return 0;
}
