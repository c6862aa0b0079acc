/* expect: race
 * An atomic word in recycled memory is cleared by memset, once without having been handed over.
 */
#include "verify/clients/client.h"
#include <string.h>

static struct slot {
    _Atomic(int) count;
} slot;

static void *user(void *unused) {
    atomic_fetch_add_explicit(&slot.count, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    for (int round = 0; round < 2; round++) {
        memset(&slot, 0, sizeof slot);
        pthread_t a = start(user, NULL);
#ifndef CORRECTED
        if (round) memset(&slot, 0, sizeof slot);
#endif
        finish(a);
        assert(atomic_load_explicit(&slot.count, memory_order_relaxed) == 1);
    }
    return 0;
}
