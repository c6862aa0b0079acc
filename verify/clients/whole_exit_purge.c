/* whole_exit_purge - a thread ends with an object in use, which another frees; a third gives all memory back.
 *
 * bound     3 threads: the end of the thread that has allocated; 1 free; 1 round that gives all back. The allocation
 *           beside a round: whole_exit_round
 * slow
 * property  the object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 112 };

int main(void) {
    end_with_round(SIZE);
    return 0;
}
