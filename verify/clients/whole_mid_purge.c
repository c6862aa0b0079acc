/* whole_mid_purge - an object of the midend, whose slab another thread holds, is freed, while a third gives all memory
 * back.
 *
 * bound     2 threads: 1 free; 1 round that gives all back; main, which holds the slab, rests. With the end of the
 *           thread that has allocated, and the midend's part of a round: whole_mid_round
 * property  the object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 128 };

int main(void) {
    begin();
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    pthread_t a = start(freeing, (void *)SIZE), b = start(reclaiming, NULL);
    finish(a);
    finish(b);
    model_thread_exit();
    end(SIZE, 1);
    return 0;
}
