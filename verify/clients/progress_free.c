/* progress_free - a thread frees objects of another thread's full slab, or gives back another slab in a round. It may
 * stop for good at any of its steps: with the full mark cleared and the slab not returned, or with a slab whose memory
 * it is giving back. Then the owner of the slabs allocates, frees and looks at its slabs, and a third thread frees.
 *
 * bound     3 threads: 2 frees, or 1 round that gives all back | then 4 allocations, 2 frees and 2 periodic looks by
 *           the owner, and 1 round | 2 frees; 2 objects a slab, 3 full slabs; of one all objects have been freed
 * property  no operation waits for another thread: each ends, whatever step the others have stopped at; no object is
 *           given out twice
 */
#include "frontend/heap_collect.h"
#include "verify/clients/remote.h"

enum { SIZE = 112, OBJECTS = 6, LATER = 4 };

static void *freeing(void *first) {
    for (size_t i = (size_t)first; i < (size_t)first + 2; i++) give(objects[i], SIZE, i);
    return NULL;
}

static void *stopping(void *unused) {
    (void)unused;
    checker_may_stop(true);
    if (checker_choose(2)) remote_reclaim_round(true);
    else freeing((void *)2);
    return NULL;
}

int main(void) {
    begin(SIZE, OBJECTS); /* three full slabs */
    finish(start(freeing, (void *)0));
    finish(start(stopping, NULL));
    uint64_t *later[LATER];
    for (size_t i = 0; i < 2; i++) later[i] = get(SIZE, 10 + i);
    finish(start(freeing, (void *)4));
    heap_collect(thread.heap, COLLECT_SOME);
    for (size_t i = 2; i < LATER; i++) later[i] = get(SIZE, 10 + i);
    for (size_t i = 0; i < 2; i++) give(later[i], SIZE, 10 + i);
    heap_collect(thread.heap, COLLECT_ALL);
    remote_reclaim_round(true);
    return 0;
}
