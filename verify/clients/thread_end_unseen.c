/* thread_end_unseen - the program's only other thread ends while the thread that has made it starts the reclamation
 * thread. Each of the two may have looked before the other's step. A thread that waits for the reclamation thread's end
 * is at its own end here: the clients pause_* have that wait.
 *
 * bound     2 threads: the steps after 1 thread was made; the end of that thread
 * property  one of the two sees what the other did: no reclamation thread runs on in a program with a single thread
 */
#include "backend/reclaimer.h"
#include "verify/clients/reclamation.h"

static void *making(void *unused) {
    (void)unused;
    reclaimer_after_thread_create(true);
    return NULL;
}

static void *ending(void *unused) {
    (void)unused;
    reclaimer_thread_ends();
    return NULL;
}

int main(void) {
    begin();
    begin_reclamation();
    options.reclaim_thread = THREAD_AUTO;
    reclaimer_before_thread_create();
    model_ends();
    pthread_t a = start(making, NULL), b = start(ending, NULL);
    finish(a);
    finish(b);
    assert(!reclaimer_lives() || reclaimer_must_end());
    return 0;
}
