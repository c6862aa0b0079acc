/* whole_held - the whole allocator: a thread holds a slab of the midend until it ends; another frees into it meanwhile.
 *
 * bound     2 threads: 1 allocation, and the end; 1 free of that object
 * property  every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SMALL = 16, SIZE = 128 };

static void *small;

static void *holding(void *unused) {
    (void)unused;
    small = jw_malloc(SMALL); /* it gets a heap */
    hand_over(filled(jw_malloc(SIZE), SIZE, 1));
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(holding, NULL), b = start(freeing, (void *)SIZE);
    finish(a);
    finish(b);
    jw_free(small);
    end(SIZE, 1);
    return 0;
}
