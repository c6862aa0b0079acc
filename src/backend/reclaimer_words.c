/* reclaimer_words.c - where the reclamation thread's words are, and how rounds ask, wait, wake and take turns. */
#include "backend/reclaimer_words.h"

#include "base/published.h"
#include "platform/platform.h"

#undef reclaimer
static struct reclaimer_words own_words;
struct reclaimer_words *reclaimer = &own_words;
PUBLISHED(reclaimer); /* NOLINT: the size of the pointer */

void reclaimer_words_start(void) {
    struct reclaimer_words *words = platform_forgotten_by_fork(sizeof *words);
    if (words) reclaimer = words;
}

#define reclaimer NEAR_READ(reclaimer) /* as in the header */

void reclaimer_forget(void) {
    atomic_store_explicit(&reclaimer->state, NO_THREAD, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->quiet_rounds, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->round_asked, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->wakeup, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->in_round, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->at_work, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->pauses, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->stopped, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->made, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->seen, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->ended, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->brief_stops, 0, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->last_stop, 0, memory_order_relaxed);
}

void reclaimer_ask(void) {
    /* [TH8] acquire: as OW1; release: the work that is asked for; pairs [TH7] [RC2]; client thread_end_asked */
    atomic_fetch_or_explicit(&reclaimer->round_asked, 1, memory_order_acq_rel);
}

wide_bool reclaimer_take_request(void) {
    bool asked = atomic_exchange_explicit(&reclaimer->round_asked, 0, memory_order_relaxed);
    /* [RC2] seq_cst: this round sees what was cached before, and not asked for; acquire: what was asked for;
     * pairs [RC1] [TH8]; client range_cache_last_push */
    atomic_thread_fence(memory_order_seq_cst);
    return asked;
}

bool reclaimer_last_look_is_asked(void) {
    /* [TH7] release: a thread that asks after this look sees what was announced before it; pairs [TH8];
     * client thread_end_asked */
    return atomic_fetch_add_explicit(&reclaimer->round_asked, 0, memory_order_release);
}

void reclaimer_announce_wait(unsigned quiet) {
    atomic_store_explicit(&reclaimer->quiet_rounds, quiet, memory_order_relaxed);
}

void reclaimer_wait(uint32_t milliseconds) {
    platform_futex_wait(&reclaimer->wakeup, 0, milliseconds);
}

void reclaimer_wake(void) {
    if (atomic_load_explicit(&reclaimer->wakeup, memory_order_relaxed) == 0 &&
        atomic_exchange_explicit(&reclaimer->wakeup, 1, memory_order_relaxed) == 0)
        platform_futex_wake(&reclaimer->wakeup);
}

void reclaimer_wake_to_end(void) {
    /* [PA8] release: the pause; pairs [PA9]; client pause_sleeping */
    if (atomic_exchange_explicit(&reclaimer->wakeup, 1, memory_order_release) == 0)
        platform_futex_wake(&reclaimer->wakeup);
}

wide_bool reclaimer_take_wakeup(void) {
    /* [PA9] acquire: the pause, if that has woken this thread; pairs [PA8]; client pause_sleeping; kept: RC2 orders it
     * too, but a pause may wait for one round more */
    return atomic_exchange_explicit(&reclaimer->wakeup, 0, memory_order_acquire);
}

bool reclaimer_begin_turn(void) {
    uint32_t expected = 0;
    /* [TH5] acquire: the round before; pairs [TH6]; kept: RC2 orders it too */
    return atomic_compare_exchange_strong_explicit(&reclaimer->in_round, &expected, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

void reclaimer_end_turn(void) {
    atomic_store_explicit(&reclaimer->brief_stops, 0, memory_order_relaxed);
    /* [TH6] release: this thread's round; pairs [TH5]; client rounds_in_turn */
    atomic_store_explicit(&reclaimer->in_round, 0, memory_order_release);
}

#define ONE_OVER 0x10000u

void reclaimer_begin_work(void) {
    atomic_fetch_add_explicit(&reclaimer->at_work, 1, memory_order_relaxed);
}

void reclaimer_end_work(void) {
    /* [TW1] release: what the work has left in Nests and lists; pairs [TW2]; kept: policy, a purge that misses some of
     * it leaves that to the next round */
    uint32_t before = atomic_fetch_add_explicit(&reclaimer->at_work, ONE_OVER - 1, memory_order_release);
    /* a signal handler has forked in the midst, and the child has forgotten the begin */
    if (before % ONE_OVER == 0) atomic_store_explicit(&reclaimer->at_work, 0, memory_order_relaxed);
}

uint32_t reclaimer_works_over(void) {
    return atomic_load_explicit(&reclaimer->at_work, memory_order_relaxed) / ONE_OVER;
}

bool reclaimer_is_at_work(void) {
    /* [TW2] acquire: as TW1; pairs [TW1]; kept: policy */
    return atomic_load_explicit(&reclaimer->at_work, memory_order_acquire) % ONE_OVER > 0;
}
