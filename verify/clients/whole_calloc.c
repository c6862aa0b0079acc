/* whole_calloc - dirty memory is freed, and given back at once, while zeroed memory is allocated.
 *
 * bound     2 threads: a free above the watermark; a zeroed allocation of a large object, the root having no other
 *           range for it
 * property  zeroed memory is zero, whether it was given back or cleared; all memory goes back in the end
 * defines   -DMODEL_STRIDE=1
 * slow
 */
#include "config/options.h"
#include "verify/clients/whole.h"

enum { SIZE = 6 * GRANULE_SIZE };

static void *dirty, *zeroed;

static void *freeing_dirty(void *unused) {
    (void)unused;
    release(dirty, SIZE, ~(uint64_t)0);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    zeroed = allocate_zeroed(SIZE);
    if (!zeroed) return NULL;
    expect(zeroed, SIZE, 0);
    fill(zeroed, SIZE, 1);
    return NULL;
}

int main(void) {
    begin();
    atomic_store_explicit(&options.cache_min, 0, memory_order_relaxed);
    atomic_store_explicit(&options.cache_percent, 0, memory_order_relaxed);
    dirty = filled(jw_malloc(SIZE), SIZE, ~(uint64_t)0);
    void *rest = filled(jw_malloc(2 * GRANULE_SIZE), 2 * GRANULE_SIZE, 2);
    model_reservations_left = 0;
    pthread_t a = start(freeing_dirty, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    release(rest, 2 * GRANULE_SIZE, 2);
    if (zeroed) release(zeroed, SIZE, 1);
    model_reservations_left = -1;
    atomic_store_explicit(&options.cache_min, SIZE, memory_order_relaxed);
    fill(zeroed = allocate_zeroed(SIZE), SIZE, 1);
    release(zeroed, SIZE, 1); /* stays mapped, and dirty */
    expect(zeroed = allocate_zeroed(SIZE), SIZE, 0);
    jw_free(zeroed);
    end(0, 0);
    return 0;
}
