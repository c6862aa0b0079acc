/* whole_realloc_up - an object of the frontend grows in another thread, into the midend.
 *
 * bound     2 threads: 2 allocations and 1 free; 1 reallocation of what the other thread has allocated
 * property  its contents go along, every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 112, MID_SIZE = 128 };

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
        object = reallocate(object, MID_SIZE);
        release(object, SIZE, 1);
    }
    model_thread_exit();
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
