/* remote_work.c - whether there is work for a round of remote reclaim. */
#include "frontend/remote_work.h"

#include "backend/thrift.h"
#include "config/policy.h"

/* Slabs that were counted, and that number at the last round. */
static _Atomic(uint32_t) slabs_touched, touched_seen;

void remote_work_note(void) {
    /* load and store as in sync/hint_counter.h, but ordered; what is lost is counted by the next */
    uint32_t count = NEAR_LOAD(slabs_touched) + 1;
    /* [RR10] release: the push; pairs [RR11]; kept: a hint, and the checker's rounds always look */
    atomic_store_explicit(&slabs_touched, count, memory_order_release);
    if (count % REMOTE_ROUND_FROM != 0) return;
    thrift_wake();
    thrift_take_turn();
}

uint32_t remote_work_count(void) {
    return NEAR_LOAD(slabs_touched);
}

bool remote_work_begin_period(void) {
    /* [RR11] acquire: the pushes that are counted; pairs [RR10]; kept: as RR10 */
    uint32_t now = atomic_load_explicit(&slabs_touched, memory_order_acquire);
    return atomic_exchange_explicit(&touched_seen, now, memory_order_relaxed) != now;
}
