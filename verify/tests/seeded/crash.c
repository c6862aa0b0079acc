/* expect: crash
 * A handler is called before it is there; the processor notices, not the instrumentation.
 */
#include "verify/clients/client.h"

static void handle(void) {
}

static _Atomic(void (*)(void)) handler;

static void *installer(void *unused) {
    atomic_store_explicit(&handler, handle, memory_order_release);
    return unused;
}

int main(void) {
    pthread_t a = start(installer, NULL);
#ifdef CORRECTED
    finish(a);
#endif
    atomic_load_explicit(&handler, memory_order_acquire)();
#ifndef CORRECTED
    finish(a);
#endif
    return 0;
}
