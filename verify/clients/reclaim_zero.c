/* reclaim_zero - what a round has given back is zero when it is fetched again, and so called.
 *
 * bound     1 thread, 1 round, 1 fetch
 * property  a range that waits unmapped has lost its words
 */
#include "verify/clients/ranges.h"

int main(void) {
    begin();
    granule_id kept = fetch(4), range = fetch(4);
    give(range);
    thrift_purge();
    range = fetch(4); /* checks the words */
    give(range);
    give(kept);
    end();
    return 0;
}
