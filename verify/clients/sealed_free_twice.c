/* sealed_free_twice - two threads free the same sealed object, which is a misuse; one of them frees another one first.
 *
 * bound     2 threads: 1 free; 2 frees; their bits are in one word
 * property  exactly one of the two is told; no free of the other object is lost
 */
#include "core/seal_roots.h"
#include "core/sealed.h"
#include "verify/clients/frontend_client.h"

static uint64_t *object, *other;

static void *freeing(void *unused) {
    jw_free(object);
    return unused;
}

static void *freeing_both(void *unused) {
    jw_free(other);
    jw_free(object);
    return unused;
}

int main(void) {
    start_allocator();
    object = get(16, 1);
    other = get(16, 2);
    int error = seal_roots();
    assert(error == 0 && sealed_bytes() == 32);
    atomic_store_explicit(&model_misuses_expected, 2, memory_order_relaxed);
    pthread_t a = start(freeing, NULL), b = start(freeing_both, NULL);
    finish(a);
    finish(b);
    assert(atomic_load_explicit(&model_misuses_expected, memory_order_relaxed) == 1);
    assert(sealed_bytes() == 0 && sealed_size(object) == 0 && sealed_size(other) == 0);
    expect(object, 16, 1); /* nothing is written to it */
    expect(other, 16, 2);
    return 0;
}
