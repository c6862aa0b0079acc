/* whole_small - the whole allocator: an object of the frontend is allocated here and freed there.
 *
 * bound     2 threads that end: 3 allocations of the largest class (2 to a slab) and 2 frees; 1 free of what the other
 *           thread has allocated
 * property  every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 112 };

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    void *second = filled(jw_malloc(SIZE), SIZE, 2), *third = filled(jw_malloc(SIZE), SIZE, 3);
    release(second, SIZE, 2);
    release(third, SIZE, 3);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)SIZE);
    finish(a);
    finish(b);
    end(SIZE, 1);
    return 0;
}
