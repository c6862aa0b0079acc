/* regions_given_up - a thread that finds no memory gives up the empty slabs of the hardened build, while another
 * thread places the first one of a class.
 *
 * bound     2 threads: 1 place; 1 giving up
 * defines   -DJW_SECURE=1
 * few       the threads meet in one word, the region's stack: the slab is there already, or not yet
 * property  the slab is placed once, and with the weight of its class: it is not taken for one with a guard; neither
 *           it nor a byte of the counts is lost
 */
#include "verify/clients/regions.h"

static void *placing(void *slab) {
    place_slab(*(granule_id *)slab);
    return NULL;
}

int main(void) {
    begin_regions(0);
    granule_id slab = fetch_slab();
    give_up_beside(placing, slab);
    return 0;
}
