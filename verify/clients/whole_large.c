/* whole_large - the whole allocator: a large object is allocated here and freed there.
 *
 * bound     2 threads that end: 2 allocations; 1 free of what the other thread has allocated
 * property  every object is its holder's alone; all memory goes back in the end
 * defines   -DJW_RANGE_CACHE_WAYS=0
 */
#include "verify/clients/whole.h"

enum { SIZE = 4 * GRANULE_SIZE };

static void *second;

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    second = filled(jw_malloc(SIZE), SIZE, 2);
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
