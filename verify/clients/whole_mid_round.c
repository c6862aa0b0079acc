/* whole_mid_round - an object of the midend is allocated here and freed there, while a third thread does the midend's
 * part of a round.
 *
 * bound     3 threads: 1 allocation, the first of the process, and the thread's end; 1 free; the midend's part of a
 *           round that gives all back
 * property  the object is its holder's alone; all memory goes back in the end
 * slow
 */
#include "midend/midend.h"
#include "verify/clients/whole.h"

enum { SIZE = 128 };

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    model_thread_exit();
    return NULL;
}

static void *going_round(void *unused) {
    (void)unused;
    midend_round(true);
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)SIZE), c = start(going_round, NULL);
    finish(a);
    finish(b);
    finish(c);
    end(SIZE, 1);
    return 0;
}
