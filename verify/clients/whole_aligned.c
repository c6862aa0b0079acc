/* whole_aligned - the whole allocator: an object that begins inside its range is allocated here and freed there.
 *
 * bound     2 threads that end: 3 allocations; 1 free of what the other thread has allocated
 * property  every object is its holder's alone; all memory goes back in the end
 */
#include "verify/clients/whole.h"

enum { SIZE = 2 * GRANULE_SIZE };

static void *first, *second;

/* A range of three granules, of which two begin at a multiple of their size. */
static void *aligned(uint64_t value) {
    return filled(allocate_aligned(2 * GRANULE_SIZE, SIZE), SIZE, value);
}

static void *allocating(void *unused) {
    (void)unused;
    first = aligned(2);
    void *inside = aligned(1);
    assert((char *)inside == (char *)first + 4 * GRANULE_SIZE); /* the second range begins a granule before */
    hand_over(inside);
    second = aligned(3);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)SIZE);
    finish(a);
    finish(b);
    release(first, SIZE, 2);
    release(second, SIZE, 3);
    end(SIZE, 1);
    return 0;
}
