/* hardened_free_twice - two threads free the same small object of the hardened build, which is a misuse.
 *
 * bound     2 threads: 1 free each
 * defines   -DJW_SECURE=1 -DJW_ZERO_SIZE_OBJECTS=32
 * property  exactly one of the two is told; the object is freed once, and all memory goes back
 */
#include "verify/clients/hardened.h"

static void *freeing_it(void *object) {
    jw_free(object);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin_hardened(0, 0);
    void *object = filled(jw_malloc(SIZE), SIZE, 1);
    atomic_store_explicit(&model_misuses_expected, 2, memory_order_relaxed);
    pthread_t a = start(freeing_it, object), b = start(freeing_it, object);
    finish(a);
    finish(b);
    assert(atomic_load_explicit(&model_misuses_expected, memory_order_relaxed) == 1);
    model_thread_exit();
    end_hardened();
    return 0;
}
