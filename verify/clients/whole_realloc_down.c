/* whole_realloc_down - a huge object shrinks in another thread, through a range and the midend to the frontend.
 *
 * bound     2 threads: 2 allocations of huge objects; 3 reallocations of the first by the other thread
 * property  its contents go along, every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 80, MID_SIZE = 192, LARGE_SIZE = 4 * GRANULE_SIZE, HUGE_SIZE = BACKEND_MAX + GRANULE_SIZE };

static void *second;

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(HUGE_SIZE), HUGE_SIZE, 1));
    second = jw_malloc(HUGE_SIZE);
    if (second) fill(second, HUGE_SIZE, 2);
    return NULL;
}

static void *shrinking(void *unused) {
    (void)unused;
    void *object = receive();
    if (object) {
        object = reallocate(object, LARGE_SIZE);
        assert(object);
        object = reallocate(object, MID_SIZE);
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
    if (second) release(second, HUGE_SIZE, 2);
    end(HUGE_SIZE, 1);
    return 0;
}
