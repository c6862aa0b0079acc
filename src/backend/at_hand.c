/* at_hand.c - ranges at hand: put, drain, and how many there may be. */
#include "backend/at_hand.h"

#include "backend/reclaimer.h"
#include "backend/thrift.h"
#include "base/assert.h"
#include "config/options.h"

static _Atomic(uint32_t) at_hand_users; /* threads that have one */

#if !JW_HOSTED
_Thread_local struct at_hand *at_hand_mine __attribute__((tls_model("initial-exec")));

void at_hand_enter(struct at_hand *at_hand) {
    if (!at_hand != !at_hand_mine) atomic_fetch_add_explicit(&at_hand_users, at_hand ? 1u : -1u, memory_order_relaxed);
    at_hand_mine = at_hand;
}
#endif

COLD void at_hand_after_fork(void) {
    atomic_store_explicit(&at_hand_users, at_hand_mine != NULL, memory_order_relaxed);
}

/* At least 1. The count is 0 if a fork interrupted a free of this thread: the child has left that heap. */
static uint32_t users(void) {
    uint32_t users = atomic_load_explicit(&at_hand_users, memory_order_relaxed);
    return users ? users : 1;
}

/* What may wait in the process is shared by all threads. */
static NOINLINE void find_room(struct at_hand *at_hand) {
    uint32_t drained = atomic_load_explicit(&at_hand->drained, memory_order_relaxed), threads = users();
    int32_t filled = at_hand->most - at_hand->room - (int32_t)(drained - at_hand->drained_seen);
    at_hand->drained_seen = drained;
    size_t share = (thrift_room() >> JW_GRANULE_SHIFT) / threads;
    at_hand->most = share < AT_HAND_MOST ? (int32_t)share : AT_HAND_MOST;
    at_hand->room = at_hand->most - filled;
    at_hand->quiet_room =
        at_hand->most - (int32_t)(option(&options.reclaim_start) >> JW_GRANULE_SHIFT) / (int32_t)threads;
}

static NOINLINE bool round_is_not_asked(void) {
    /* [AH4] seq_cst: the put, then this look; a round clears round_asked, then looks at the slot: one sees what the
     * other did; pairs [AH5]; client at_hand_last_put */
    atomic_thread_fence(memory_order_seq_cst);
    return !reclaimer_is_asked();
}

static ALWAYS_INLINE bool needs_round(const struct at_hand *at_hand) {
    return at_hand->room <= at_hand->quiet_room && round_is_not_asked();
}

/* Rounds must come while enough is at hand; a program without a thread for them runs them in its frees. What rounds
 * have drained is subtracted first: a thread that now and then frees a little must not wake the reclamation thread. */
static NOINLINE void ask_for_rounds(struct at_hand *at_hand) {
    find_room(at_hand);
    if (at_hand->puts % AT_HAND_PERIOD == 0) thrift_notice();
    if (needs_round(at_hand)) thrift_wake();
}

static ALWAYS_INLINE void put(struct at_hand *at_hand, _Atomic(uint32_t) *slot, granule_id range, uint32_t weight) {
    invariant(leaf_same(leaf_get(range), leaf_held()) && knit_weight(range) == weight);
    at_hand->room -= (int32_t)weight;
    /* [AH1] release: the range's words, and the object's last use; pairs [AH2] [AH3]; client at_hand_round */
    atomic_store_explicit(slot, range, memory_order_release);
    if (UNLIKELY(++at_hand->puts % AT_HAND_PERIOD == 0 || needs_round(at_hand))) ask_for_rounds(at_hand);
}

/* Puts or frees a range that found no empty slot, or no room at the first look. */
static NOINLINE void put_or_free(struct at_hand *at_hand, _Atomic(uint32_t) *slot, granule_id range, uint32_t weight) {
    if (slot && at_hand == at_hand_mine) {
        find_room(at_hand);
        if (at_hand->room >= (int32_t)weight) {
            put(at_hand, slot, range, weight);
            return;
        }
    }
    thrift_free(range, weight);
}

void at_hand_put(struct at_hand *at_hand, granule_id range, uint32_t weight) {
    _Atomic(uint32_t) *slot = at_hand->slots[class_of_weight(weight)], *end = slot + AT_HAND_WAYS;
    while (slot < end && atomic_load_explicit(slot, memory_order_relaxed)) slot++;
    if (UNLIKELY(slot == end || at_hand->room < (int32_t)weight))
        put_or_free(at_hand, slot == end ? NULL : slot, range, weight);
    else put(at_hand, slot, range, weight);
}

granule_id at_hand_take_larger(uint32_t weight) {
    granule_id range = 0;
    for (unsigned class = class_of_weight(weight); at_hand_mine && class < RANGE_CLASSES && !range; class ++)
        range = at_hand_take(at_hand_mine, weight_of_class(class));
    return range;
}

/* The slot's range, marked for the next round or taken; 0: it stays. `word`: what was there at the first look. */
static granule_id drain_slot(_Atomic(uint32_t) *slot, uint32_t word, bool now) {
    granule_id range = at_hand_range(word);
    /* [AH2] acquire: the range's words, and the object's last use; pairs [AH1]; client at_hand_purge */
    if (now) return at_hand_range(atomic_exchange_explicit(slot, 0, memory_order_acquire));
    bool old = at_hand_is_old(word);
    /* [AH3] acquire: as AH2; pairs [AH1]; client at_hand_round */
    bool changed = atomic_compare_exchange_strong_explicit(slot, &word, old ? 0 : at_hand_with_old(range),
                                                           memory_order_acquire, memory_order_relaxed);
    return changed && old ? range : 0;
}

bool at_hand_drain(struct at_hand *at_hand, bool now) {
    bool left = false;
    for (unsigned i = 0; i < RANGE_CLASSES * AT_HAND_SLOTS; i++) {
        _Atomic(uint32_t) *slot = &at_hand->slots[0][0] + i;
        uint32_t word = atomic_load_explicit(slot, memory_order_relaxed), weight = weight_of_class(i / AT_HAND_SLOTS);
        granule_id range = word ? drain_slot(slot, word, now) : 0;
        left |= word && !range;
        if (!range) continue;
        invariant(leaf_same(leaf_get(range), leaf_held()) && knit_weight(range) == weight);
        atomic_fetch_add_explicit(&at_hand->drained, weight, memory_order_relaxed);
        if (now) thrift_free(range, weight);
        else thrift_give_back(range, weight);
    }
    return left;
}

COLD size_t at_hand_granules(struct at_hand *at_hand) {
    size_t granules = 0;
    for (unsigned i = 0; i < RANGE_CLASSES * AT_HAND_SLOTS; i++)
        if (atomic_load_explicit(&at_hand->slots[0][0] + i, memory_order_relaxed))
            granules += weight_of_class(i / AT_HAND_SLOTS);
    return granules;
}
