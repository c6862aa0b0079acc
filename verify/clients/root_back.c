/* root_back - both halves of a root are freed at once, unmapped: the root goes back to the OS, and no thread looks at
 * its records or its memory any more. Meanwhile a third thread fetches, perhaps the same root made anew.
 *
 * bound     3 threads, 2 frees and 1 fetch; 1 slot, 1 try
 * property  a thread that fetches has its range alone; in the end no root is left
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

static granule_id left, right, got;

static void *freeing(void *range) {
    place(*(granule_id *)range, UNMAPPED);
    return NULL;
}

static void *fetching(void *unused) {
    (void)unused;
    got = own(root_create(FOR_SMALL_SLABS));
    return NULL;
}

int main(void) {
    begin();
    left = fetch(4);
    right = fetch(4);
    pthread_t a = start(freeing, &left), b = start(freeing, &right), c = start(fetching, NULL);
    finish(a);
    finish(b);
    finish(c);
    assert(got);
    place(got, UNMAPPED);
    end();
    return 0;
}
