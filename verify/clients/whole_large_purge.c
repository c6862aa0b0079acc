/* whole_large_purge - a large object is allocated here and freed there; a third gives all memory back.
 *
 * bound     3 threads: 1 allocation; 1 free; 1 round
 * property  the object is its holder's alone; all memory goes back in the end
 * defines   -DJW_RANGE_CACHE_WAYS=0
 * slow
 */
#include "verify/clients/whole.h"

enum { SIZE = 4 * GRANULE_SIZE };

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    return NULL;
}

int main(void) {
    run_with_round(allocating, SIZE);
    return 0;
}
