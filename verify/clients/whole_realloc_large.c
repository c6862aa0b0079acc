/* whole_realloc_large - an object of the midend grows in another thread, to a range and to a mapping.
 *
 * bound     2 threads: 2 allocations, 1 free and the thread's end; 2 reallocations of what the other thread has
 *           allocated
 * property  its contents go along, every object is its holder's alone; all memory goes back in the end
 * defines   -DJW_RANGE_CACHE_WAYS=0
 */
#include "verify/clients/whole.h"

enum { SIZE = 128, LARGE_SIZE = 4 * GRANULE_SIZE, HUGE_SIZE = BACKEND_MAX + GRANULE_SIZE };

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    release(filled(jw_malloc(SIZE), SIZE, 2), SIZE, 2);
    model_thread_exit();
    return NULL;
}

static void *growing(void *unused) {
    (void)unused;
    void *object = receive();
    if (object) {
        object = reallocate(object, LARGE_SIZE);
        object = reallocate(object, HUGE_SIZE);
        release(object, SIZE, 1);
    }
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(growing, NULL);
    finish(a);
    finish(b);
    end(SIZE, 1);
    return 0;
}
