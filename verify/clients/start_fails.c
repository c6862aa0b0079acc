/* start_fails - the first two allocations of the process come at once, and the OS refuses the first start.
 *
 * bound     2 threads: 1 first allocation each; 1 start that fails
 * property  one thread is told, the other starts the allocator anew
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, TRIES_OF_A_START = JW_WINDOW_SHIFT - JW_ROOT_SHIFT };

static void *starting(void *got) {
    uint64_t *object = jw_malloc(SIZE);
    if (object) fill(object, SIZE, 1);
    *(bool *)got = object != NULL;
    return NULL;
}

int main(void) {
    model_reservations_left = -1;
    model_refusals_left = TRIES_OF_A_START;
    bool one, other;
    pthread_t a = start(starting, &one);
    starting(&other);
    finish(a);
    assert(one != other);
    return 0;
}
