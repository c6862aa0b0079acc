/* whole_small - the whole allocator: an object of the frontend is allocated here and freed there.
 *
 * bound     2 threads, 2 allocations of the largest class (2 to a slab), 1 free of another thread's object
 * property  every object is its holder's alone
 */
#include "frontend/allocator.h"
#include "verify/clients/client.h"
#include "verify/platform/model.h"

enum { SIZE = 80 };

static _Atomic(void *) handed;

static void *allocating(void *unused) {
    (void)unused;
    uint64_t *object = jw_malloc(SIZE);
    fill(object, SIZE, 1);
    atomic_store_explicit(&handed, object, memory_order_release);
    uint64_t *second = jw_malloc(SIZE), *third;
    fill(second, SIZE, 2);
    third = jw_malloc(SIZE);
    fill(third, SIZE, 3);
    expect(second, SIZE, 2);
    jw_free(second);
    jw_free(third);
    model_thread_exit();
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    uint64_t *object = atomic_load_explicit(&handed, memory_order_acquire);
    if (object) {
        expect(object, SIZE, 1);
        jw_free(object);
    }
    model_thread_exit();
    return NULL;
}

int main(void) {
    model_reservations_left = -1;
    bool started = allocator_start();
    assert(started);
    pthread_t a = start(allocating, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    return 0;
}
