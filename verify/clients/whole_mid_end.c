/* whole_mid_end - a thread that holds a slab of the midend ends, while another gives all memory back.
 *
 * bound     2 threads: the end of the thread that has allocated; 1 round that gives all back. With a free, and the
 *           midend's part of a round: whole_mid_round
 * property  the object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 128 };

int main(void) {
    begin();
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    pthread_t other = start(reclaiming, NULL);
    model_thread_exit();
    finish(other);
    end(SIZE, 1);
    return 0;
}
