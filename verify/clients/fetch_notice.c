/* fetch_notice - a fetch that puts back, mapped, the larger part of a cached range starts the reclamation thread: no
 * other thread may free a range for long.
 *
 * bound     1 thread, 1 fetch; no reclamation thread runs, because too little was cached for one
 * property  the reclamation thread has been started
 */
#include "verify/clients/reclamation.h"

int main(void) {
    begin();
    granule_id range = fetch(ROOT_GRANULES);
    place(range, MAPPED);
    begin_reclamation();
    granule_id got = fetch(4);
    assert(atomic_load_explicit(&model_thread_body, memory_order_relaxed));
    place(got, MAPPED);
    end();
    return 0;
}
