/* thread_end_free - the reclamation thread ends while another thread frees a range.
 *
 * bound     2 threads: the reclamation thread; 1 free
 * property  the range is given back, or the freeing thread has started the next thread for it
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/reclamation.h"

static granule_id range;

static void *freeing(void *unused) {
    (void)unused;
    give(range);
    return NULL;
}

int main(void) {
    begin();
    range = fetch(ROOT_GRANULES);
    begin_reclamation();
    thrift_wake();
    pthread_t a = start(reclamation, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(free_granules(MAPPED) == 0 || atomic_load_explicit(&model_thread_body, memory_order_relaxed));
    end();
    return 0;
}
