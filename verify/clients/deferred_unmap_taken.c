/* deferred_unmap_taken - a thread takes a deferred mapping and uses it, while others offer what is kept, and defer
 * another mapping.
 *
 * bound     3 threads: 1 unmapping, 1 that tries again, 1 that takes one; two mappings; the OS refuses three times
 * property  a mapping goes back once, or is one thread's, who sees its pages empty; none is lost
 * defines   -DJW_DEFERRED_UNMAP_TRIES=1
 */
#include "verify/clients/deferred_mappings.h"

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
    begin();
    releasing(first);
    pthread_t a = start(releasing, second), b = start(offering, NULL), c = start(taking, NULL);
    finish(a);
    finish(b);
    finish(c);
    end();
    return 0;
}
