/* deferred_unmap_taken - a thread takes a deferred mapping and uses it, while others offer what is kept, and defer
 * another mapping.
 *
 * bound     3 threads: 1 unmapping, 1 that tries again, 1 that takes one; two mappings; the OS refuses three times
 * property  a mapping goes back once, or is one thread's, who sees its pages empty; none is lost
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

static void *taking(void *unused) {
    (void)unused;
    size_t size = ROOT_SIZE;
    void *mapping = take_deferred(&size);
    if (!mapping) return NULL;
    assert(size == ROOT_SIZE);
    expect(mapping, ROOT_SIZE, 0);
    fill(mapping, ROOT_SIZE, 2);
    expect(mapping, ROOT_SIZE, 2);
    unmap_or_defer(mapping, ROOT_SIZE);
    return NULL;
}

int main(void) {
    model_reservations_left = -1;
    atomic_store_explicit(&model_unmaps_refused, 3, memory_order_relaxed);
    void *first = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client"),
         *second = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
    releasing(first);
    pthread_t a = start(releasing, second), b = start(offering, NULL), c = start(taking, NULL);
    finish(a);
    finish(b);
    finish(c);
    atomic_store_explicit(&model_unmaps_refused, 0, memory_order_relaxed);
    for (unsigned rounds = 0; unmap_deferred(); rounds++) assert(rounds < 2);
    assert(model_reserved_roots() == 0);
    return 0;
}
