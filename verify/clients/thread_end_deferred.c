/* thread_end_deferred - the reclamation thread ends while another thread defers a range, whose Nest is busy for now.
 *
 * bound     2 threads: the reclamation thread; 1 free; the Nest's lists are locked until the thread's second round
 * property  the range is placed, or the freeing thread has started the next thread for it
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/reclamation.h"

static granule_id range;
static unsigned rounds;

static void *freeing(void *unused) {
    (void)unused;
    place(range, UNMAPPED);
    thrift_notice();
    return NULL;
}

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    if (++rounds == 2) nest_unlock_all(&ownership.nests[UNMAPPED_NEST], ~(uint64_t)0);
    return false;
}

int main(void) {
    begin();
    granule_id in_slot = fetch(2), between = fetch(2);
    range = fetch(2);
    granule_id behind = fetch(2);
    place(in_slot, UNMAPPED);
    begin_reclamation();
    options.reclaim_start = ROOT_SIZE;
    thrift_on_round(ROUND_SLABS, on_round);
    thrift_wake();
    nest_lock_all(&ownership.nests[UNMAPPED_NEST]);
    pthread_t a = start(reclamation, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    bool waits = !id_stack_is_empty(&ownership.deferred);
    assert(!waits || atomic_load_explicit(&model_thread_body, memory_order_relaxed));
    nest_unlock_all(&ownership.nests[UNMAPPED_NEST], ~(uint64_t)0);
    place(between, UNMAPPED);
    place(behind, UNMAPPED);
    end();
    return 0;
}
