/* whole_mid_purge - as whole_exit_purge, with an object of the midend.
 *
 * bound     3 threads: the end of the thread that has allocated; 1 free; 1 round that gives all back. The allocation
 *           beside the midend's part of a round: whole_mid_round
 * slow
 * property  the object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 128 };

int main(void) {
    end_with_round(SIZE);
    return 0;
}
