/* progress_realloc - a thread reallocates a large or a huge object, and may stop for good at any of its steps: with
 * the range behind in its hands, with a part cut off and not placed yet, or with an object that is at neither place.
 * Then another thread reallocates objects that lie beside.
 *
 * bound     2 threads: 1 large object grows, shrinks and is freed, or 1 huge one grows and becomes a large one; then
 *           both by main, and 1 purge
 * property  no operation waits for another thread: each ends, whatever step the other has stopped at; the contents go
 *           along, every object is its holder's alone
 * defines   -DMODEL_ROOTS=16
 */
#include "verify/clients/whole.h"

enum { LARGE_SIZE = 2 * GRANULE_SIZE, HUGE_SIZE = BACKEND_MAX + GRANULE_SIZE };

static void *large[2], *huge[2];

static void resize_large(void *object, uint64_t value) {
    object = reallocate(object, 2 * LARGE_SIZE);
    object = reallocate(object, LARGE_SIZE + GRANULE_SIZE);
    release(object, LARGE_SIZE, value);
}

static void resize_huge(void *object, uint64_t value) {
    object = reallocate(object, HUGE_SIZE + ROOT_SIZE);
    object = reallocate(object, LARGE_SIZE);
    release(object, LARGE_SIZE, value);
}

static void *stopping(void *unused) {
    (void)unused;
    checker_may_stop(true);
    if (checker_choose(2)) resize_large(large[0], 1);
    else resize_huge(huge[0], 1);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned i = 0; i < 2; i++) {
        large[i] = filled(jw_malloc(LARGE_SIZE), LARGE_SIZE, 1 + i);
        huge[i] = filled(jw_malloc(HUGE_SIZE), HUGE_SIZE, 1 + i);
    }
    finish(start(stopping, NULL));
    resize_large(large[1], 2);
    resize_huge(huge[1], 2);
    thrift_purge();
    return 0;
}
