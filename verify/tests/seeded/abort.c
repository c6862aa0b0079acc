/* expect: abort
 * The program gives up when it sees what it took for impossible: that both were too late.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { FENCE = memory_order_seq_cst };
#else
enum { FENCE = memory_order_acq_rel };
#endif

static _Atomic(int) want[2];
static int entered[2];

static void *contender(void *number) {
    int mine = (int)(intptr_t)number;
    atomic_store_explicit(&want[mine], 1, memory_order_relaxed);
    atomic_thread_fence(FENCE);
    entered[mine] = !atomic_load_explicit(&want[!mine], memory_order_relaxed);
    return NULL;
}

int main(void) {
    pthread_t a = start(contender, (void *)0), b = start(contender, (void *)1);
    finish(a);
    finish(b);
    if (entered[0] && entered[1]) abort();
    return 0;
}
