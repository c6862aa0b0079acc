/* huge_free_twice - two threads free the same huge object.
 *
 * bound     2 threads: 1 free each
 * property  one of them frees it, the other one is told that nothing is there
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/huge.h"
#include "verify/clients/ranges.h"

static uint64_t *huge;

static void *freeing(void *freed) {
    *(bool *)freed = huge_free_if_live(huge);
    return NULL;
}

int main(void) {
    begin();
    huge = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(huge);
    huge[0] = 1;
    bool first = false, second = false;
    pthread_t a = start(freeing, &first), b = start(freeing, &second);
    finish(a);
    finish(b);
    assert(first != second && huge_usable_size(huge) == 0);
    assert(atomic_load_explicit(&thrift_counters.huge_bytes, memory_order_relaxed) == 0 && model_reserved_roots() == 0);
    return 0;
}
