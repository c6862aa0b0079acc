/* buffers_swap - the buffers swap roles and the standby one is emptied while another thread frees a range and takes it
 * or its unmapped successor.
 *
 * bound     2 threads: 1 swap and 1 range given back; 1 free and 1 acquisition in either state
 * property  every range is in one Nest, and in that of its state; what is called zero is
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

static granule_id freed;

/* a round for the one class that has ranges */
static void *reclaiming(void *unused) {
    (void)unused;
    unsigned standby = atomic_fetch_xor_explicit(&ownership.active, 1, memory_order_relaxed);
    granule_id range = range_acquire_from(standby, RANGE_CLASSES - 1);
    if (range) place(own(range), UNMAPPED);
    return NULL;
}

static void *using(void *unused) {
    (void)unused;
    place(freed, MAPPED);
    freed = fetch(ROOT_GRANULES);
    return NULL;
}

int main(void) {
    begin();
    freed = fetch(ROOT_GRANULES);
    pthread_t a = start(reclaiming, NULL), b = start(using, NULL);
    finish(a);
    finish(b);
    place(freed, MAPPED);
    end();
    return 0;
}
