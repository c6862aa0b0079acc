/* whole_exit_round - a thread's first allocation, and its end, while another gives all memory back.
 *
 * bound     2 threads: 1 allocation, the first of the process, and the thread's end; 1 round that gives all back
 * property  the object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 112 };

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(reclaiming, NULL);
    finish(a);
    finish(b);
    end(SIZE, 1);
    return 0;
}
