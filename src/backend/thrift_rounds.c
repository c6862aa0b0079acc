/* thrift_rounds.c - Thrift's rounds, the threads that run them, and the purge, a round that does not wait. */
#include "backend/thrift.h"
#include "backend/thrift_buffers.h"
#include "base/compiler.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"

static _Atomic(uint32_t) frees_refused;
static _Atomic(uint64_t) last_round;               /* milliseconds */
static _Atomic(round_hook) hooks[ROUND_STAGES][2]; /* [1]: for a purge */

void thrift_on_round(enum round_stage stage, round_hook round, round_hook purge) {
    atomic_store_explicit(&hooks[stage][false], round, memory_order_relaxed);
    atomic_store_explicit(&hooks[stage][true], purge, memory_order_relaxed);
}

/* `now`: a purge, all memory must go now. */
static bool begin_round(bool now) {
    bool more = false;
    for (unsigned stage = 0; stage < ROUND_STAGES; stage++) {
        round_hook hook = atomic_load_explicit(&hooks[stage][now], memory_order_relaxed);
        more |= hook && hook();
    }
    range_place_deferred();
    thrift_rejoin_unmapped();
    if (now) root_unmap_spares();
    else more |= root_round();
    return more | unmap_deferred();
}

/* `woken`: the round ends early, above the watermark; then the recorded peak stays. */
static size_t end_round(unsigned standby, bool woken) {
    atomic_fetch_add_explicit(&thrift_counters.rounds, 1, memory_order_relaxed);
    if (!woken) thrift_age_peak();
    return thrift_reclaim(standby, false);
}

/* Whether no work is left for a round, except for the `kept` granules that cannot be given back. */
static bool nothing_left(size_t kept) {
    /* [TH7] release: a thread that asks after this look sees what was announced before it; pairs [TH8];
     * client thread_end_asked */
    bool asked = atomic_fetch_add_explicit(&reclaimer->round_asked, 0, memory_order_release);
    /* [TH1] release: the same for a thread that adds ranges; pairs [OW1]; client thread_end_free */
    bool mapped = atomic_fetch_add_explicit(&ownership.cached[0], 0, memory_order_release) > (intptr_t)kept;
    /* the same for a thread that defers a range; client thread_end_deferred */
    return id_stack_last_look_is_empty(&ownership.deferred) && !mapped && !asked;
}

/* A longer wait is announced while it lasts. It is taken only if no work came before the announcement. */
static void wait_for_round(unsigned quiet, size_t kept) {
    atomic_store_explicit(&reclaimer->quiet_rounds, quiet, memory_order_relaxed);
    if (quiet > 0 && !nothing_left(kept)) quiet = 0;
    platform_futex_wait(&reclaimer->pressure, 0, (uint32_t)option(&options.reclaim_interval) << quiet);
    atomic_store_explicit(&reclaimer->quiet_rounds, 0, memory_order_relaxed);
}

/* Often a new thread starts just after one has ended. If the abandoned heap were being drained then, the new thread
 * would make another heap. */
static void wait_for_successor(void) {
    platform_futex_wait(&reclaimer->pressure, 0, (uint32_t)option(&options.reclaim_interval) >> SUCCESSOR_SHIFT);
}

/* Sleeps without limit: a thread that makes work wakes this one. */
static void wait_for_work(size_t kept) {
    atomic_store_explicit(&reclaimer->quiet_rounds, QUIET_ROUNDS, memory_order_relaxed);
    if (nothing_left(kept)) platform_futex_wait(&reclaimer->pressure, 0, UINT32_MAX);
    atomic_store_explicit(&reclaimer->quiet_rounds, 0, memory_order_relaxed);
    /* [PA9] acquire: the pause, if that has woken this thread; pairs [PA8]; client pause_sleeping; kept: AH5 orders it
     * too, but a pause may wait for one round more */
    atomic_exchange_explicit(&reclaimer->pressure, 0, memory_order_acquire);
}

/* Ends the thread, which has no work left. False: work has come meanwhile. */
static bool end_thread(size_t kept) {
    /* [TH2] release: this thread's rounds; pairs [TH3] [TH4];
     * kept: TH7 and AH5 order them too, but for load buffering, which the checker does not explore */
    atomic_store_explicit(&reclaimer->state, NO_THREAD, memory_order_release);
    uint32_t expected = NO_THREAD;
    if (nothing_left(kept)) return true;
    /* [TH3] acquire: as TH4, if another reclamation thread has run meanwhile; pairs [TH2]; kept: as TH2 */
    return !atomic_compare_exchange_strong_explicit(&reclaimer->state, &expected, RUNNING, memory_order_acquire,
                                                    memory_order_relaxed);
}

/* The next freeing thread does the rest of the work. */
static void stop_thread(void) {
    /* [PA4] release: this thread's rounds; pairs [PA3]; client pause_round */
    atomic_store_explicit(&reclaimer->state, REFUSED, memory_order_release);
    platform_futex_wake(&reclaimer->state);
}

/* What the reclamation thread knows from one round to the next. */
struct rounds {
    unsigned quiet; /* rounds in a row without work */
    size_t kept;    /* granules that could not be given back in the last one */
    bool woken;     /* that one was early */
    bool more;      /* there is work for another */
};

/* Whether this round was asked for; a later request is for the next one. */
static bool take_request(void) {
    bool asked = atomic_exchange_explicit(&reclaimer->round_asked, 0, memory_order_relaxed);
    /* [AH5] seq_cst: this round sees what was put at hand before, and not asked for; acquire: what was asked for;
     * pairs [AH4] [TH8]; client at_hand_last_put */
    atomic_thread_fence(memory_order_seq_cst);
    return asked;
}

/* One round, with the wait in it. False: the thread must stop. */
static bool run_round(struct rounds *rounds) {
    bool asked = take_request();
    if (rounds->woken && asked) wait_for_successor();
    rounds->more = begin_round(false);
    unsigned standby = thrift_swap_buffers();
    wait_for_round(rounds->quiet, rounds->kept);
    if (reclaimer_must_end()) return false;
    /* [PA10] acquire: as PA9; pairs [PA8]; kept: without it a pause may wait for one round more */
    rounds->woken = atomic_exchange_explicit(&reclaimer->pressure, 0, memory_order_acquire);
    rounds->kept = end_round(standby, rounds->woken);
    rounds->more |= thrift_take_refusals();
    rounds->quiet = nothing_left(rounds->kept) && !rounds->woken ? rounds->quiet + 1 : 0;
    return true;
}

/* Nothing is left to do: the thread ends, or waits for work where it may not be started at need. True: it has ended. */
static bool end_or_wait(struct rounds *rounds) {
    thrift_age_peak(); /* the next round may be far */
    rounds->quiet = 0;
    rounds->woken = !reclaimer_starts_at_need();
    if (!rounds->woken) return end_thread(rounds->kept);
    wait_for_work(rounds->kept);
    return false;
}

static void reclamation_thread(void) {
    struct rounds rounds;
    rounds.quiet = 0;
    rounds.kept = 0;
    rounds.woken = true;
    if (!platform_thread_confine(reclaimer_starts_at_need())) return stop_thread();
    while (!reclaimer_must_end() && run_round(&rounds)) {
        if (rounds.quiet == 0 || (rounds.more && rounds.quiet < QUIET_ROUNDS)) continue;
        if (end_or_wait(&rounds)) return platform_futex_wake(&reclaimer->state); /* a pause may wait */
    }
    stop_thread();
}

/* A round by a thread that frees or allocates. It does not wait: the time between two rounds takes that place. */
static void round_without_thread(void) {
    uint64_t now = platform_milliseconds(), last = atomic_load_explicit(&last_round, memory_order_relaxed);
    uint32_t expected = 0;
    /* [TH5] acquire: the round before; pairs [TH6]; kept: AH5 orders it too */
    if (now - last < option(&options.reclaim_interval) ||
        !atomic_compare_exchange_strong_explicit(&reclaimer->in_round, &expected, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return;
    atomic_store_explicit(&last_round, now, memory_order_relaxed);
    take_request();
    end_round(!atomic_load_explicit(&ownership.active, memory_order_relaxed), false);
    begin_round(false);
    thrift_swap_buffers();
    atomic_store_explicit(&reclaimer->in_round, 0, memory_order_release); /* [TH6] pairs [TH5]; client rounds_in_turn */
    uint32_t refused = REFUSED;
    if (reclaimer_starts_at_need() &&
        atomic_compare_exchange_strong_explicit(&reclaimer->state, &refused, NO_THREAD, memory_order_relaxed,
                                                memory_order_relaxed))
        reclaimer_start();
}

void thrift_take_turn(void) {
    if (atomic_load_explicit(&reclaimer->state, memory_order_relaxed) == REFUSED &&
        atomic_load_explicit(&reclaimer->round_asked, memory_order_relaxed))
        round_without_thread();
}

void thrift_wake(void) {
    /* [TH8] acquire: as OW1; release: the work that is asked for; pairs [TH7] [AH5]; client thread_end_asked */
    atomic_fetch_or_explicit(&reclaimer->round_asked, 1, memory_order_acq_rel);
    if (atomic_load_explicit(&reclaimer->state, memory_order_relaxed) == NO_THREAD) reclaimer_start();
    if (atomic_load_explicit(&reclaimer->quiet_rounds, memory_order_relaxed) > 0) reclaimer_wake();
}

bool thrift_has_thread(void) {
    return reclaimer_lives();
}

void thrift_free(granule_id range, uint32_t weight) {
    thrift_place(range, weight);
    thrift_notice();
}

void thrift_notice(void) {
    uint32_t state = atomic_load_explicit(&reclaimer->state, memory_order_relaxed);
    bool asleep = atomic_load_explicit(&reclaimer->quiet_rounds, memory_order_relaxed) > 0;
    if (LIKELY(state == RUNNING && !asleep)) return;
    if (range_cached(MAPPED) << JW_GRANULE_SHIFT < option(&options.reclaim_start) &&
        id_stack_is_empty(&ownership.deferred) &&
        !(state == REFUSED && atomic_load_explicit(&reclaimer->round_asked, memory_order_relaxed)))
        return;
    if (state == NO_THREAD) reclaimer_start();
    if (state == RUNNING) reclaimer_wake();
    if (state == REFUSED && atomic_fetch_add_explicit(&frees_refused, 1, memory_order_relaxed) % JW_RETRY_PERIOD == 0)
        round_without_thread();
}

/* The closed parts of the first root keep it from being whole. They are opened when nothing is in use. */
static void complete_first_root(void) {
    if (range_cached(MAPPED) + range_cached(UNMAPPED) != root_count() * ROOT_GRANULES) return;
    for (enum root_use use = 0; use < ROOT_USES; use++)
        for (granule_id part; (part = root_open(use, 1));) {
            uint32_t weight = knit_weight(part);
            range_count(UNMAPPED, -(intptr_t)weight); /* it is counted while it is closed, and again by its place */
            range_place_known(part, weight, UNMAPPED);
        }
}

/* Roots become whole also of pages that the OS does not take, as those of locked memory. */
size_t thrift_purge(void) {
    size_t before = atomic_load_explicit(&thrift_counters.given_back, memory_order_relaxed);
    begin_round(true);
    unsigned active = atomic_load_explicit(&ownership.active, memory_order_relaxed);
    thrift_reclaim(!active, true);
    thrift_swap_buffers();
    if (thrift_reclaim(active, true) > 0) { /* once more: what the OS has refused may be whole roots by now */
        thrift_swap_buffers();
        thrift_reclaim(!active, true);
    }
    complete_first_root();
    return atomic_load_explicit(&thrift_counters.given_back, memory_order_relaxed) - before;
}

bool thrift_make_room(size_t size) {
    if (!thrift_may_help(size)) return false;
    size_t cached = range_cached(MAPPED);
    bool waits = root_unmap_spares() || cached > 0;
    return thrift_purge() > 0 || waits; /* even if nothing is cached here: abandoned heaps may have memory */
}

/* No thread runs rounds from now on: gives back the memory of ended threads, and what is cached above the minimum. */
static void reclamation_stops(void) {
    begin_round(false);
    thrift_trim();
}

void thrift_start(void) {
    reclaimer_runs(reclamation_thread, reclamation_stops);
}

void thrift_forget_thread(void) {
    reclaimer_forget();
}
