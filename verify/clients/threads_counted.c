/* threads_counted - threads have their first heap while the program makes another thread, and while one that libc has
 * made has its first heap. The count of threads that were made decides when the reclamation thread ends.
 *
 * bound     3 threads, of which the program has made 2
 * property  each thread counts once, so the last one that ends is known as such
 */
#include "backend/reclaimer.h"
#include "backend/reclaimer_words.h"
#include "verify/clients/client.h"

static void *seen(void *unused) {
    (void)unused;
    bool counted = reclaimer_thread_seen();
    assert(counted);
    return NULL;
}

int main(void) {
    reclaimer_before_thread_create();
    pthread_t first = start(seen, NULL), of_libc = start(seen, NULL);
    reclaimer_before_thread_create();
    pthread_t second = start(seen, NULL);
    finish(first);
    finish(of_libc);
    finish(second);
    assert(atomic_load_explicit(&reclaimer->seen, memory_order_relaxed) == 3);
    assert(atomic_load_explicit(&reclaimer->made, memory_order_relaxed) == 3);
    return 0;
}
