/* whole_aligned - the whole allocator: an object that begins inside its range is allocated here and freed there.
 *
 * bound     2 threads that end: 2 allocations; 1 free of what the other thread has allocated
 * property  every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = GRANULE_SIZE };

static void *second;

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(allocate_aligned(2 * GRANULE_SIZE, SIZE), SIZE, 1));
    second = filled(allocate_aligned(2 * GRANULE_SIZE, SIZE), SIZE, 2);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)SIZE);
    finish(a);
    finish(b);
    release(second, SIZE, 2);
    end(SIZE, 1);
    return 0;
}
