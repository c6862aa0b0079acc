/* midend_discard_later - rounds give a free page of a slab back once it was left alone, with what is freed meanwhile.
 *
 * bound     2 threads: the reclamation thread; 1 free; a slab of 4 objects, of which 2 are in use
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  the first round leaves the page as it is; in the end each page of free objects is given back
 */
#include "config/options.h"
#include "verify/clients/midend_slabs.h"

static void *objects[OBJECTS];
static unsigned rounds;

/* GenMC's memory is cleared in the first word of each granule only. */
static bool is_zero(const void *object) {
#ifdef GENMC
    object = (const void *)align_down((uintptr_t)object, GRANULE_SIZE);
#endif
    return *(const uint64_t *)object == 0;
}

/* Comes before the midend's part of a round. */
static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    if (++rounds == 2) assert(!is_zero(objects[0]));
    return false;
}

static void run_rounds(void) {
    thrift_wake();
    void (*body)(void) = atomic_exchange_explicit(&model_thread_body, NULL, memory_order_acquire);
    assert(body);
    body();
}

static void *reclaiming(void *unused) {
    (void)unused;
    run_rounds();
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(objects[2], 1);
    return NULL;
}

int main(void) {
    begin();
    model_starts_threads = true;
    model_waits_end = true;
    options.reclaim_thread = THREAD_TRUE;
    thrift_on_round(ROUND_OBJECTS, on_round);
    take_slab(objects, 1);
    give(objects[0], 1);
    give(objects[1], 1);
    pthread_t a = start(reclaiming, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(is_zero(objects[0]) && is_zero(objects[1]));
    void *object = take(2);
    assert(object == objects[0]);
    give(object, 2);
    run_rounds();
    assert(is_zero(objects[0]));
    give(objects[3], 1);
    expect_nothing_left();
    return 0;
}
