/* whole_exit_purge - a thread ends with an object in use, which another frees; a third gives all memory back.
 *
 * bound     3 threads: 1 allocation and the thread's end; 1 free; 1 round
 * property  the object is its holder's alone; all memory goes back in the end
 * slow
 */
#include "verify/clients/whole.h"

enum { SIZE = 80 };

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    model_thread_exit();
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    void *object = receive();
    if (object) release(object, SIZE, 1);
    return NULL;
}

static void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, NULL), c = start(reclaiming, NULL);
    finish(a);
    finish(b);
    finish(c);
    end(SIZE, 1);
    return 0;
}
