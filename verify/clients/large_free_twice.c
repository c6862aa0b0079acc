/* large_free_twice - two threads free the same large object, which is a misuse.
 *
 * bound     2 threads: 1 free each
 * property  exactly one of the two is told; the range is freed once
 */
#include "backend/large_object.h"
#include "verify/clients/frontend_client.h"

static void *freeing(void *object) {
    large_free(object);
    return NULL;
}

int main(void) {
    start_allocator();
    bool zeroed;
    void *object = large_allocate(2 * GRANULE_SIZE, 1, &zeroed);
    assert(object);
    atomic_store_explicit(&model_misuses_expected, 2, memory_order_relaxed);
    pthread_t a = start(freeing, object), b = start(freeing, object);
    finish(a);
    finish(b);
    assert(atomic_load_explicit(&model_misuses_expected, memory_order_relaxed) == 1);
    expect_nothing_left();
    return 0;
}
