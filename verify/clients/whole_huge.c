/* whole_huge - the whole allocator: a huge object is allocated here and freed there.
 *
 * bound     2 threads that end: 2 allocations; 1 free of what the other thread has allocated. The window
 *           has no room for two: the second object gets the addresses of the first, or none
 * property  every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = BACKEND_MAX + GRANULE_SIZE };

static void *second;

static void *allocating(void *unused) {
    (void)unused;
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    second = jw_malloc(SIZE);
    if (second) fill(second, SIZE, 2);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)SIZE);
    finish(a);
    finish(b);
    if (second) release(second, SIZE, 2);
    end(SIZE, 1);
    return 0;
}
