/* deferred_unmap_tries - two threads give mappings back, which the OS refuses at first, while a third offers what is
 * kept.
 *
 * bound     3 threads: 2 unmaps and 1 that tries again, one mapping at a time; the OS refuses three times
 * property  each mapping goes back once, no thread touches it afterwards, none is lost
 * defines   -DJW_DEFERRED_UNMAP_TRIES=1
 */
#include "verify/clients/deferred_mappings.h"

int main(void) {
    begin();
    pthread_t a = start(releasing, first), b = start(releasing, second), c = start(offering, NULL);
    finish(a);
    finish(b);
    finish(c);
    end();
    return 0;
}
