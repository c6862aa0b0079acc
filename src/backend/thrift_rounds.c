/* thrift_rounds.c - Thrift's rounds, the threads that run them, and the purge, a round that does not wait. */
#include "backend/reserve.h"
#include "backend/root.h"
#include "backend/thrift.h"
#include "backend/thrift_buffers.h"
#include "base/compiler.h"
#include "base/near.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"

static _Atomic(uint32_t) frees_refused;
static _Atomic(uint64_t) last_round; /* milliseconds; by a thread that frees or allocates */
_Atomic(int32_t) thrift_rounds_again;
static _Atomic(size_t) held; /* granules that wait outside all Nests, as far as a round, then the threads have told */
static _Atomic(round_hook) round_hooks[ROUND_STAGES];
_Atomic(fetch_hook) thrift_on_fetch;

void thrift_on_round(enum round_stage stage, round_hook hook) {
    atomic_store_explicit(&round_hooks[stage], hook, memory_order_relaxed);
}

/* Granules from which a round is asked for, if 2^shift times as many as usual may wait. */
static size_t asked_from(unsigned shift) {
    return option(&options.reclaim_start) << shift >> JW_GRANULE_SHIFT;
}

wide_bool thrift_may_hold(size_t granules) {
    size_t all = NEAR_LOAD(held) + granules;
    atomic_store_explicit(&held, all, memory_order_relaxed); /* what is lost, the next round is told of */
    return all < asked_from(reclaimer_patience() + 1);       /* they may be told of twice */
}

/* The stages from `stage` on. `now`: a purge, all memory must go now, as above the soft limit. */
static COLD wide_bool begin_round_at(unsigned stage, wide_bool now) {
    wide_bool more = false;
    limits_look();
    now = now || limits_are_exceeded();
    for (; stage < ROUND_STAGES; stage++) {
        round_hook hook = atomic_load_explicit(&round_hooks[stage], memory_order_relaxed);
        if (hook) more |= hook(now);
    }
    range_place_deferred();
    thrift_rejoin_unmapped();
    thrift_yield_to_pressure();
    more |= root_round(now);
    return more | unmap_deferred();
}

static wide_bool begin_round(bool now) {
    return begin_round_at(0, now);
}

void thrift_purge_shared(void) {
    begin_round_at(ROUND_RANGES, true);
}

/* `woken`: the round ends early, above the watermark; then the recorded peak stays. `room`: where the OS refuses pages,
 * as those of locked memory, ranges are joined, so that roots become whole and go back with their addresses. */
static size_t end_round(unsigned standby, bool woken, bool room) {
    thrift_count_round();
    if (!woken) watermark_age_peak();
    thrift_forget_peak();
    return thrift_reclaim(standby, room);
}

/* Whether no work is left for a round, except for the `still_mapped` granules that cannot be given back. */
static wide_bool nothing_left(size_t still_mapped) {
    bool asked = reclaimer_last_look_is_asked();
    bool mapped = ownership_last_look_has_mapped(still_mapped);
    return !ownership_last_look_has_deferred() && !mapped && !asked;
}

/* Milliseconds between two rounds. */
static uint32_t round_interval(void) {
    return (uint32_t)option(&options.reclaim_interval) / (option(&options.pressure) ? PRESSURE_ROUNDS : 1);
}

/* *quiet: the announcement of a patient wait, where it may be longer than the other. The more waits, the shorter it is.
 * All but the longest begin only where less than half of what may wait does: else a busy program would end the wait at
 * once, and the early round would give back what the program is about to use. */
static void make_patient(unsigned *quiet) {
    size_t waiting = free_granules(MAPPED) + NEAR_LOAD(held);
    int32_t again = NEAR_LOAD(thrift_rounds_again);
    for (int32_t doubled = again - 1; doubled > 0; doubled--) {
        unsigned shift = doubled < PATIENCE ? PATIENCE - (unsigned)doubled : 1;
        if (waiting >= asked_from(shift > 1 ? shift - 1 : shift)) continue;
        *quiet = (unsigned)doubled + PATIENT * shift;
        return;
    }
}

/* Whether a longer wait that is announced may begin: since the look before, not too much work has come. */
static wide_bool still_little(unsigned quiet, size_t still_mapped) {
    if (quiet < PATIENT) return nothing_left(still_mapped);
    return free_granules(MAPPED) < asked_from(quiet / PATIENT);
}

/* Waits for the interval between two rounds, doubled `quiet` times. A longer wait is announced while it lasts. */
static void wait_for_round(unsigned quiet, size_t still_mapped) {
    make_patient(&quiet);
    reclaimer_announce_wait(quiet);
    if (quiet > 0 && !still_little(quiet, still_mapped)) quiet = 0;
    reclaimer_wait(round_interval() << quiet % PATIENT);
    reclaimer_announce_wait(0);
}

/* Often a new thread starts just after one has ended. If the abandoned heap were being drained then, the new thread
 * would make another heap. */
static void wait_for_successor(void) {
    reclaimer_wait((uint32_t)option(&options.reclaim_interval) >> SUCCESSOR_SHIFT);
}

/* Sleeps without limit: a thread that makes work wakes this one. */
static void wait_for_work(size_t still_mapped) {
    reclaimer_announce_wait(QUIET_ROUNDS);
    if (nothing_left(still_mapped)) reclaimer_wait(UINT32_MAX);
    reclaimer_announce_wait(0);
    reclaimer_take_wakeup();
}

/* Ends the thread, which has no work left. False: work has come meanwhile. */
static bool end_thread(size_t still_mapped) {
    reclaimer_end();
    if (nothing_left(still_mapped)) return true;
    return !reclaimer_go_on();
}

/* What the reclamation thread knows from one round to the next. */
struct rounds {
    unsigned quiet;      /* rounds in a row without work */
    size_t still_mapped; /* granules that could not be given back in the last round */
    wide_bool woken;     /* the last round was early */
    wide_bool more;      /* there is work for another round */
    bool refused;        /* the OS has refused pages in the last round */
};

/* `left`: the round that ends leaves something for the next one. */
static void count_round(wide_bool woken, wide_bool left) {
    int32_t again = NEAR_LOAD(thrift_rounds_again);
    if (woken) again = -IMPATIENT_ROUNDS;
    else again += again < 0 || (left && again <= PATIENT_ROUNDS);
    thrift_set_rounds_again(again);
}

/* One round, with the wait in it. False: the thread must stop. */
static bool run_round(struct rounds *rounds) {
    bool asked = reclaimer_take_request();
    if (rounds->woken && asked) wait_for_successor();
    reclaimer_begin_work();
    atomic_store_explicit(&held, 0, memory_order_relaxed);
    rounds->more = begin_round(false);
    unsigned standby = ownership_swap_buffers();
    reclaimer_end_work();
    wait_for_round(rounds->quiet, rounds->still_mapped);
    thrift_count_wakeup();
    if (reclaimer_must_end()) return false;
    rounds->woken = reclaimer_take_wakeup();
    reclaimer_begin_work();
    rounds->still_mapped = end_round(standby, rounds->woken, rounds->refused);
    rounds->refused = give_back_was_refused();
    reclaimer_end_work();
    rounds->more |= thrift_take_refusals();
    bool left = !nothing_left(rounds->still_mapped);
    count_round(rounds->woken, left);
    rounds->quiet = left || rounds->woken ? 0 : rounds->quiet + 1;
    return true;
}

/* Nothing is left to do: the thread ends, or waits for work where it may not be started at need. True: it has ended. */
static bool end_or_wait(struct rounds *rounds) {
    watermark_age_peak(); /* the next round may be far */
    rounds->quiet = 0;
    rounds->woken = !reclaimer_starts_at_need();
    if (!rounds->woken) return end_thread(rounds->still_mapped);
    wait_for_work(rounds->still_mapped);
    count_round(false, true); /* the program works again */
    thrift_count_wakeup();
    return false;
}

/* With spare_callers: what no thread may give back once this one has ended. */
static ALWAYS_INLINE void give_all_back(void) {
    if (!option(&options.spare_callers)) return;
    reclaimer_begin_work();
    begin_round(true);
    thrift_reclaim(ownership_swap_buffers(), false);
    thrift_reclaim(ownership_swap_buffers(), false);
    reclaimer_end_work();
}

static COLD void reclamation_thread(void) {
    struct rounds rounds;
    rounds.quiet = 0;
    rounds.still_mapped = 0;
    rounds.woken = true;
    rounds.refused = false;
    if (!platform_thread_confine(reclaimer_starts_at_need())) return reclaimer_stop();
    while (!reclaimer_must_end() && run_round(&rounds)) {
        if (rounds.quiet == 0 || (rounds.more && rounds.quiet < QUIET_ROUNDS)) continue;
        if (end_or_wait(&rounds)) return reclaimer_wake_pauses();
    }
    give_all_back();
    reclaimer_stop();
}

/* A round by a thread that frees or allocates. It does not wait: the time between two rounds takes the wait's place. */
static COLD void round_without_thread(void) {
    uint64_t now = platform_milliseconds(), last = atomic_load_explicit(&last_round, memory_order_relaxed);
    if (now - last < round_interval() >> ROUNDS_BY_FREES_SHIFT || reserve_is_mine() || !reclaimer_begin_turn()) return;
    atomic_store_explicit(&last_round, now, memory_order_relaxed);
    reclaimer_take_request();
    reclaimer_begin_work();
    end_round(!ownership_active(), false, give_back_was_refused());
    begin_round(false);
    ownership_swap_buffers();
    reclaimer_end_work();
    reclaimer_end_turn();
    thrift_give_back_above_watermark(0); /* what was kept after a brief stop waits no longer */
    reclaimer_ask_again();
}

void thrift_take_turn(void) {
    if (reclaimer_state() == ROUNDS_BY_FREES && reclaimer_is_asked()) round_without_thread();
}

void thrift_wake_for(size_t granules) {
    thrift_count_ask();
    reclaimer_ask();
    if ((reclaimer_state() == RUNNING && !reclaimer_sleeps()) || reserve_is_mine()) return;
    if (reclaimer_state() == NO_THREAD) reclaimer_start();
    unsigned patience = reclaimer_patience();
    if (reclaimer_sleeps() && (patience == 0 || granules >= asked_from(patience))) reclaimer_wake();
}

void thrift_wake(void) {
    thrift_wake_for(SIZE_MAX);
}

COLD wide_bool thrift_admit(size_t granules) {
    if (!limits_may_admit(granules << JW_GRANULE_SHIFT)) return false;
    bool admitted = thrift_make_headroom(granules);
    if (UNLIKELY(limits_are_exceeded())) thrift_wake();
    return admitted;
}

NOINLINE void thrift_place_freed(granule_id range, uint32_t weight) {
    thrift_place(range, weight);
    thrift_notice();
}

void thrift_notice(void) {
    uint32_t state = reclaimer_state(), patience = reclaimer_patience();
    if (LIKELY(state == RUNNING && !reclaimer_sleeps())) return;
    if (free_granules(MAPPED) << JW_GRANULE_SHIFT >> patience < option(&options.reclaim_start) &&
        id_stack_is_empty(&ownership.deferred) && !(state == ROUNDS_BY_FREES && reclaimer_is_asked()))
        return;
    if (reserve_is_mine()) return;
    if (state == NO_THREAD) reclaimer_start();
    if (state == RUNNING) reclaimer_wake();
    if (state == ROUNDS_BY_FREES &&
        atomic_fetch_add_explicit(&frees_refused, 1, memory_order_relaxed) % JW_RETRY_PERIOD == 0)
        round_without_thread();
}

void thrift_before_fetch(size_t granules) {
    fetch_hook hook = NEAR_LOAD(thrift_on_fetch);
    if (hook) hook((uint32_t)granules);
}

/* Closed parts keep their roots from being whole. So they are opened, except for those of a single root that is in
 * use. */
static void complete_roots(void) {
    if (root_count() <= 1 && free_granules(MAPPED) + free_granules(UNMAPPED) < ROOT_GRANULES) return;
    for (enum root_use use = 0; use < ROOT_USES; use++)
        for (granule_id part; (part = root_open_part(use, 1));) {
            uint32_t weight = knit_weight(part);
            /* a closed part counts as free, and counts again when placed */
            free_granules_add(UNMAPPED, -(intptr_t)weight);
            range_place_known(part, weight, UNMAPPED);
        }
}

/* At most once between two rounds: the OS may refuse. */
COLD void thrift_complete_roots(void) {
    static _Atomic(size_t) completed;
    size_t rounds = NEAR_LOAD(thrift_counters.rounds);
    if (rounds == atomic_load_explicit(&completed, memory_order_relaxed) ||
        free_granules(UNMAPPED) < root_count() * (ROOT_GRANULES / 2))
        return;
    atomic_store_explicit(&completed, rounds, memory_order_relaxed);
    complete_roots();
}

/* A purge also joins ranges whose pages the OS does not take, as those of locked memory, so that roots become whole. */
COLD size_t thrift_purge(void) {
    size_t before = thrift_given_back();
    reclaimer_begin_work();
    begin_round(true);
    unsigned active = ownership_active();
    thrift_reclaim(!active, true);
    ownership_swap_buffers();
    if (thrift_reclaim(active, true) > 0) { /* once more: what the OS has refused may be whole roots by now */
        ownership_swap_buffers();
        thrift_reclaim(!active, true);
    }
    complete_roots();
    reclaimer_end_work();
    return thrift_given_back() - before;
}

COLD size_t thrift_trim(void) {
    size_t before = thrift_given_back();
    for (unsigned passes = 0, left = TRIM_WAIT; passes < TRIM_PASSES; passes++) {
        uint32_t over = reclaimer_works_over() + 1; /* with this purge */
        thrift_purge();
        for (; left > 0 && reclaimer_is_at_work(); left--) platform_sleep(1);
        if ((uint16_t)reclaimer_works_over() == (uint16_t)over) break;
    }
    return thrift_given_back() - before;
}

/* Of the last thrift_make_room. stamp: after it, if the OS had refused pages; else 0. skipped: calls since then, of all
 * threads, that found the same stamp. */
static struct {
    _Atomic(uint64_t) stamp;
    _Atomic(uint32_t) skipped;
} vain_purge;

/* Whether the OS has refused pages in the last purge, and nothing has changed since then. A purge that the OS refuses
 * asks it about each free range. False once in VAIN_PERIOD times: the stamp does not tell all, and the OS may take
 * pages again. */
static COLD wide_bool purge_is_vain(void) {
    return thrift_change_stamp() == NEAR_LOAD(vain_purge.stamp) &&
           (atomic_fetch_add_explicit(&vain_purge.skipped, 1, memory_order_relaxed) + 1) % VAIN_PERIOD != 0;
}

static wide_bool purge_for_room(void) {
    size_t cached = free_granules(MAPPED);
    root_end_spares();
    bool waits = root_unmap_spares() || cached > 0;
    bool given = thrift_purge() > 0;
    atomic_store_explicit(&vain_purge.stamp, give_back_was_refused() ? thrift_change_stamp() : 0, memory_order_relaxed);
    return given || waits; /* even if nothing is cached here: abandoned heaps may have memory */
}

COLD wide_bool thrift_make_room(size_t size) {
    if (!thrift_may_help(size)) return false;
    if (purge_is_vain()) return true; /* another thread may just have made room */
    thrift_lift_spare(true);
    bool room = purge_for_room();
    thrift_lift_spare(false);
    return room;
}

/* No thread runs rounds from now on: gives back the memory of ended threads, and what is cached above the minimum. If
 * the program's threads come and go, this is done once in an interval. Else each new thread would take pages anew that
 * the one before has just given back. */
static void reclamation_stops(bool briefly) {
    atomic_store_explicit(&last_round, platform_milliseconds(), memory_order_relaxed);
    if (!briefly) begin_round(false);
    else reclaimer_ask(); /* a program whose caches serve all its calls has no other work for a round */
    thrift_give_back_above_watermark(0);
}

void thrift_start(void) {
    reclaimer_register(reclamation_thread, reclamation_stops);
}
