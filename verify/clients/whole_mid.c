/* whole_mid - the whole allocator: an object of the midend is allocated here, by a thread that has no heap any more,
 * and freed there.
 *
 * bound     2 threads that end: 3 allocations and 1 free; 1 free of what the other thread has allocated
 * property  every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 128 };

static void *second;

static void *allocating(void *unused) {
    (void)unused;
    release(filled(jw_malloc(SIZE), SIZE, 2), SIZE, 2);
    model_thread_exit();
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    second = filled(jw_malloc(SIZE), SIZE, 3);
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)SIZE);
    finish(a);
    finish(b);
    release(second, SIZE, 3);
    end(SIZE, 1);
    return 0;
}
