/* whole_realloc_down - a huge object shrinks in another thread, through a range to the frontend.
 *
 * bound     2 threads: a huge object shrinks in 2 reallocations, while the thread that allocated it frees a range
 * property  its contents go along, every object is its holder's alone; all memory goes back in the end
 * defines   -DJW_RANGE_CACHE_WAYS=0
 */
#include "verify/clients/whole.h"

enum { SIZE = 112, LARGE_SIZE = 4 * GRANULE_SIZE, HUGE_SIZE = BACKEND_MAX + GRANULE_SIZE };

static void *allocating(void *unused) {
    (void)unused;
    void *large = filled(jw_malloc(LARGE_SIZE), LARGE_SIZE, 2);
    hand_over(filled(jw_malloc(HUGE_SIZE), HUGE_SIZE, 1));
    release(large, LARGE_SIZE, 2);
    return NULL;
}

static void *shrinking(void *unused) {
    (void)unused;
    void *object = receive();
    if (object) {
        object = reallocate(object, LARGE_SIZE);
        assert(object);
        object = reallocate(object, SIZE);
        release(object, SIZE, 1);
    }
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(shrinking, NULL);
    finish(a);
    finish(b);
    end(HUGE_SIZE, 1);
    return 0;
}
