/* hardened_taken_along - an object of another thread's heap leaves the quarantine of the hardened build, because a
 * later free needs its place. Objects that leave are given out next, but only by the thread that has their heap.
 *
 * bound     2 threads that end: 1 free of what the other has allocated, then 12 times an allocation and its free; 1
 *           allocation; 4 objects may wait in a quarantine
 * defines   -DJW_SECURE=1 -DJW_ZERO_SIZE_OBJECTS=32
 * property  every object is its holder's alone, and in its own thread's heap; all memory goes back in the end
 */
#include "frontend/slab.h"
#include "frontend/thread_heap.h"
#include "verify/clients/hardened.h"

static void *taking(void *unused) {
    (void)unused;
    void *object = receive();
    if (object) release(object, SIZE, 1);
    for (uint64_t more = 2; more < 14; more++) {
        object = filled(jw_malloc(SIZE), SIZE, more);
        assert(slab_has_key(slab_of(object), thread_key()));
        release(object, SIZE, more);
    }
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin_hardened(4 * SLOT, 0);
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    pthread_t other = start(taking, NULL);
    release(filled(jw_malloc(SIZE), SIZE, 99), SIZE, 99);
    finish(other);
    model_thread_exit();
    end_hardened();
    return 0;
}
