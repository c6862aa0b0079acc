/* deferred_unmap_tries - two threads give mappings back, which the OS refuses at first, while a third offers what is
 * kept.
 *
 * bound     3 threads: 2 unmaps and 1 that tries again, one mapping at a time; the OS refuses three times
 * property  each mapping goes back once, no thread touches it afterwards, none is lost
 * defines   -DJW_DEFERRED_UNMAP_TRIES=1
 */
#include "platform/deferred_unmap.h"

#include "config/geometry.h"
#include "platform/platform.h"
#include "verify/clients/client.h"
#include "verify/platform/model.h"

static void *releasing(void *mapping) {
    fill(mapping, ROOT_SIZE, 1);
    unmap_or_defer(mapping, ROOT_SIZE);
    return NULL;
}

static void *offering(void *unused) {
    (void)unused;
    unmap_deferred();
    return NULL;
}

int main(void) {
    model_reservations_left = -1;
    atomic_store_explicit(&model_unmaps_refused, 3, memory_order_relaxed);
    void *first = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client"),
         *second = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
    pthread_t a = start(releasing, first), b = start(releasing, second), c = start(offering, NULL);
    finish(a);
    finish(b);
    finish(c);
    atomic_store_explicit(&model_unmaps_refused, 0, memory_order_relaxed);
    for (unsigned rounds = 0; unmap_deferred(); rounds++) assert(rounds < 2);
    assert(model_reserved_roots() == 0);
    return 0;
}
