/* whole_exit_purge - a thread ends with an object in use, which another frees; a third gives all memory back.
 *
 * bound     3 threads: 1 allocation and the thread's end; 1 free; 1 round
 * property  the object is its holder's alone; all memory goes back in the end
 * slow
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
    run_with_round(allocating, SIZE);
    return 0;
}
