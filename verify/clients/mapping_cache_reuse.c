/* mapping_cache_reuse - a huge object is freed, waits, and serves another thread's request; a round may take it
 * meanwhile.
 *
 * bound     3 threads: 1 free; 1 allocation; 1 drain, as of a round. One mapping may wait
 * property  the second object is its thread's alone; nothing counts as cached and no mapping is left in the end
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1
 */
#include "verify/clients/waiting_mappings.h"

static uint64_t *huge, *reused;

static void *freeing(void *unused) {
    (void)unused;
    huge[0] = 1;
    huge_free(huge);
    return NULL;
}

static void *reusing(void *unused) {
    (void)unused;
    reused = make_huge();
    return NULL;
}

int main(void) {
    begin();
    huge = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(huge);
    pthread_t a = start(freeing, NULL), b = start(reusing, NULL), c = start(draining, NULL);
    finish(a);
    finish(b);
    finish(c);
    if (reused) huge_free(reused);
    end_of_mappings();
    return 0;
}
