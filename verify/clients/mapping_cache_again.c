/* mapping_cache_again - a mapping that waits serves a request, and waits again; a round may take it at any time.
 *
 * bound     2 threads: 1 allocation and free; 1 drain, as of a round. One mapping may wait
 * property  the object is its thread's alone; nothing counts as cached and no mapping is left in the end
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1
 */
#include "verify/clients/waiting_mappings.h"

static void *reusing(void *unused) {
    (void)unused;
    uint64_t *object = make_huge();
    if (object) huge_free(object);
    return NULL;
}

int main(void) {
    begin();
    uint64_t *huge = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(huge);
    huge[0] = 1;
    huge_free(huge);
    pthread_t a = start(reusing, NULL), b = start(draining, NULL);
    finish(a);
    finish(b);
    end_of_mappings();
    return 0;
}
