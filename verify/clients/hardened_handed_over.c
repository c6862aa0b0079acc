/* hardened_handed_over - an object of the hardened build is allocated here and freed there, and waits in the other
 * thread's quarantine until that thread ends. Its slab's other object goes through the owner's quarantine meanwhile.
 *
 * bound     2 threads that end: 2 allocations (2 objects to a slab), 1 free, 4 times both; 1 free of what the
 *           other thread has allocated; 4 objects may wait in a quarantine
 * defines   -DJW_SECURE=1 -DJW_ZERO_SIZE_OBJECTS=32
 * property  every object is its holder's alone, and no free of one is taken for misuse; all memory goes back in the end
 */
#include "verify/clients/hardened.h"

static void *allocating(void *unused) {
    (void)unused;
    void *first = filled(jw_malloc(SIZE), SIZE, 1), *second = filled(jw_malloc(SIZE), SIZE, 2);
    hand_over(first);
    release(second, SIZE, 2);
    for (uint64_t more = 3; more < 7; more++) release(filled(jw_malloc(SIZE), SIZE, more), SIZE, more);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin_hardened(4 * SLOT, 0);
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)SIZE);
    finish(a);
    finish(b);
    void *left = receive();
    if (left) release(left, SIZE, 1);
    model_thread_exit();
    end_hardened();
    return 0;
}
