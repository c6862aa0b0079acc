/* hardened_test.c - the hardened build where something is refused, or where a fork or a callback comes between: what
 * waits stays where it is, and nothing is lost or served twice. */
#include "unit.h"

#include "backend/huge.h"
#include "core/allocator.h"
#include "core/limit.h"
#include "frontend/heap.h"
#include "frontend/thread_heap.h"
#include "hardened/entry.h"
#include "hardened/quarantine.h"
#include "hardened/quarantine_ring.h"
#include "hardened/regions.h"
#include "hardened/secret.h"

enum { SMALL = 100, ABOVE_MID = 64 << 10, MAY_BE_KEPT = 48 << 10, HUGE_SIZE = 5 << 20, SOME = 40 };

static void begin(size_t quarantine) {
    CHECK(allocator_start());
    options = default_options;
    options.reclaim_thread = THREAD_TRUE;
    options.quarantine = quarantine;
    options.guard_rate = 1;
    way_choose();
}

static void refuse(unsigned operations) {
    sim_fail_only(operations);
    sim_fail_after(operations ? 0 : SIM_NEVER);
}

static void free_some(void) {
    for (unsigned i = 0; i < SOME; i++) jw_free(jw_malloc(SMALL));
}

static uint32_t waiting_in(const struct quarantine *quarantine) {
    return quarantine_newest(quarantine) - quarantine->head;
}

/* A fork's child has no memory for a ring at first. It takes over the old one when it has. */
static void take_over_later(void) {
    begin(64 << 10);
    free_some();
    struct quarantine *old = thread_heap()->quarantine;
    uint32_t waiting = waiting_in(old);
    CHECK(waiting > 1);
    sim_fork(true);
    refuse(SIM_RESERVE);
    jw_free(jw_malloc(SMALL));
    CHECK(!thread_heap()->quarantine && waiting_in(old) == waiting);
    refuse(0);
    jw_free(jw_malloc(SMALL));
    CHECK(thread_heap()->quarantine && thread_heap()->quarantine != old && waiting_in(old) == 0);
}

/* A ring that is half changed is left alone. */
static void leave_alone(void) {
    begin(64 << 10);
    free_some();
    struct quarantine *old = thread_heap()->quarantine;
    uint32_t waiting = waiting_in(old);
    old->changing = true;
    sim_fork(true);
    free_some();
    CHECK(thread_heap()->quarantine && thread_heap()->quarantine != old && waiting_in(old) == waiting);
}

static void a_child_takes_over_what_waits(void **state) {
    (void)state;
    run_in_child(take_over_later);
    run_in_child(leave_alone);
}

/* The OS refuses huge objects. They wait on, each once, and the ring has all its room. */
static void drain_in_vain(void) {
    enum { COUNT = 3 };
    char *objects[COUNT];
    struct huge_statistics statistics;
    begin(64 << 10);
    for (unsigned i = 0; i < COUNT; i++) CHECK((objects[i] = jw_malloc(HUGE_SIZE)) != NULL);
    free_some();
    struct heap *heap = thread_heap();
    struct quarantine *quarantine = heap->quarantine;
    quarantine->large.emptied.most = SIZE_MAX; /* the simulated address space is small */
    for (unsigned i = 0; i < COUNT; i++) jw_free(objects[i]);
    CHECK(quarantine->large.emptied.count == COUNT);
    size_t bytes = quarantine->large.emptied.bytes;
    refuse(SIM_UNMAP | SIM_PROTECT);
    quarantine_drain(heap);
    CHECK(heap->quarantine == quarantine && waiting_in(quarantine) == 0);
    CHECK(quarantine_left(quarantine) == (int64_t)(quarantine->limit / CHARGE_UNIT));
    CHECK(quarantine->large.emptied.count == COUNT && quarantine->large.emptied.bytes == bytes);
    refuse(0);
    quarantine_drain(heap);
    CHECK(!heap->quarantine);
    huge_statistics(&statistics);
    CHECK(statistics.mappings == 0 && statistics.bytes == 0);
}

/* Nothing is left of its contents while it waits: kept with its pages, or where the OS refuses to take them. What may
 * come again without a call waits with access. */
static void wait_without_contents(size_t size, bool kept) {
    begin(1 << 20);
    free_some();
    struct large_rings *rings = &thread_heap()->quarantine->large;
    struct large_ring *ring = kept ? &rings->kept : &rings->emptied;
    rings->kept.most = 0;
    ring->most = SIZE_MAX;
    char *object = memset(jw_malloc(size), 1, size);
    refuse(kept ? 0 : SIM_DISCARD);
    jw_free(object);
    refuse(0);
    CHECK(ring->count == 1 && bytes_are_zero(object, size));
    CHECK(ring->waiting[ring->first].closed == (size == ABOVE_MID));
}

static void wait_kept(void) {
    wait_without_contents(MAY_BE_KEPT, true);
}

static void wait_refused(void) {
    wait_without_contents(ABOVE_MID, false);
}

static void wait_refused_small(void) {
    wait_without_contents(MAY_BE_KEPT, false);
}

static void what_the_system_refuses_waits_on(void **state) {
    (void)state;
    run_in_child(drain_in_vain);
    run_in_child(wait_kept);
    run_in_child(wait_refused);
    run_in_child(wait_refused_small);
}

/* Also where free clears nothing: behind the old bytes were the slack's, and the trailer. */
static void grow_uncleared(void) {
    begin(64 << 10);
    options.zero_on_free = false;
    way_choose();
    char *object = memset(jw_malloc(HUGE_SIZE), 1, HUGE_SIZE);
    object = hardened_reallocate(object, 2 * HUGE_SIZE);
    CHECK(object && object[0] == 1 && object[HUGE_SIZE - 1] == 1);
    CHECK(bytes_are_zero(object + HUGE_SIZE, HUGE_SIZE));
    jw_free(object);
}

/* The object is as before, closed by its trailer. */
static void grow_in_vain(void) {
    begin(64 << 10);
    char *object = memset(jw_malloc(HUGE_SIZE), 1, HUGE_SIZE);
    refuse(SIM_RESERVE | SIM_RESIZE);
    CHECK(!hardened_reallocate(object, 2 * HUGE_SIZE));
    refuse(0);
    CHECK(hardened_object_size(object) == HUGE_SIZE && object[0] == 1 && object[HUGE_SIZE - 1] == 1);
    jw_free(object);
}

static void a_huge_object_that_grows(void **state) {
    (void)state;
    run_in_child(grow_uncleared);
    run_in_child(grow_in_vain);
}

static unsigned calls_back;
static char *kept;

static int shrink_and_ask(size_t size) {
    (void)size;
    if (++calls_back > 1) return 0;
    CHECK((kept = hardened_reallocate(kept, 8)) != NULL && !jw_malloc(BACKEND_MAX));
    return 0;
}

/* Also behind a realloc that held the callback back. */
static void call_back(void) {
    begin(64 << 10);
    kept = jw_malloc(2000);
    limit_register(shrink_and_ask);
    options.limit_hard = 2 * ROOT_SIZE;
    while (calls_back == 0) jw_malloc(BACKEND_MAX - ABOVE_MID);
    CHECK(calls_back == 1);
}

static void a_callback_is_not_called_in_itself(void **state) {
    (void)state;
    run_in_child(call_back);
}

/* Once memory has run out, a large object's range waits for no class. */
static void wait_no_more(void) {
    begin(64 << 10);
    jw_free(jw_malloc(ABOVE_MID));
    hardened_drain();
    CHECK(unused_bytes[false] + unused_bytes[true] > 0);
    while (regions_give_up()) continue;
    CHECK(unused_bytes[false] + unused_bytes[true] == 0);
    jw_free(jw_malloc(ABOVE_MID));
    hardened_drain();
    CHECK(unused_bytes[false] + unused_bytes[true] == 0);
}

/* A range whose guard could not be opened is something to give up, too. */
static void give_up_what_was_shut(void) {
    begin(64 << 10);
    void *object = jw_malloc(ABOVE_MID);
    jw_free(object);
    refuse(SIM_PROTECT);
    hardened_drain();
    refuse(0);
    CHECK(regions_give_up());
    CHECK(!regions_give_up());
}

static void regions_are_given_up(void **state) {
    (void)state;
    run_in_child(wait_no_more);
    run_in_child(give_up_what_was_shut);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_takes_over_what_waits), cmocka_unit_test(what_the_system_refuses_waits_on),
        cmocka_unit_test(a_huge_object_that_grows),      cmocka_unit_test(a_callback_is_not_called_in_itself),
        cmocka_unit_test(regions_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
