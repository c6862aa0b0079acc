/* expect: uninitialised
 * A counter inside a fresh block is incremented before anything was stored in it.
 */
#include "verify/clients/client.h"

int main(void) {
    _Atomic(int) *counter = malloc(sizeof *counter);
#ifdef CORRECTED
    atomic_init(counter, 0);
#endif
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    free((void *)counter);
    return 0;
}
