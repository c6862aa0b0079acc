/* start_twice - the first two allocations of the process come at once.
 *
 * bound     2 threads: 1 first allocation each, one small and one large
 * property  one of them starts the allocator, the other waits for it, and both get their object
 * defines   -DJW_RANGE_CACHE_WAYS=0
 * slow
 */
#include "verify/clients/frontend_client.h"

enum { SMALL = 112, LARGE_SIZE = 1024 };

static void *starting(void *unused) {
    (void)unused;
    fill(jw_malloc(LARGE_SIZE), LARGE_SIZE, 1);
    return NULL;
}

int main(void) {
    model_reservations_left = -1;
    pthread_t a = start(starting, NULL);
    get(SMALL, 2);
    finish(a);
    return 0;
}
