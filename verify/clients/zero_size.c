/* zero_size - two threads take an object of size 0 each, and one of them frees it and takes another one. Both look at
 * the same bit first. Of the hardened build.
 *
 * bound     2 threads: 1 malloc(0); 2 malloc(0) and 1 free; 32 addresses
 * defines   -DJW_ZERO_SIZE_OBJECTS=32
 * property  no address has two holders, and no free is taken for a second one
 */
#include "hardened/zero_size.h"
#include "config/policy.h"
#include "verify/clients/client.h"
#include "verify/platform/model.h"

static uint64_t holders[JW_ZERO_SIZE_OBJECTS]; /* plain: a race, if an address has two holders */

static uint64_t *holders_of(const void *object) {
    return &holders[(uintptr_t)object / 16 % JW_ZERO_SIZE_OBJECTS]; /* another for each address of the region */
}

static void *take_zero_size(void) {
    void *object = zero_size_allocate(16);
    assert(zero_size_owns(object));
    assert(++*holders_of(object) == 1);
    return object;
}

static void *taking(void *taken) {
    return *(void **)taken = take_zero_size();
}

int main(void) {
    model_reservations_left = -1;
    zero_size_start();
    void *others;
    pthread_t other = start(taking, &others);
    void *first = take_zero_size();
    --*holders_of(first);
    zero_size_free(first);
    void *second = take_zero_size();
    zero_size_check(second);
    finish(other);
    uint64_t held = 0;
    for (unsigned i = 0; i < JW_ZERO_SIZE_OBJECTS; i++) held += holders[i];
    assert(held == 2);
    zero_size_free(second);
    zero_size_free(others);
    return 0;
}
