/* reclaimer.c - starting, waking, pausing and ending the reclamation thread. */
#include "backend/reclaimer.h"

#include "config/options.h"
#include "config/policy.h"
#include "platform/platform.h"

static void (*thread_body)(void), (*thread_stopped)(bool briefly);

void reclaimer_register(void (*body)(void), void (*stopped)(bool briefly)) {
    thread_body = body;
    thread_stopped = stopped;
}

wide_bool reclaimer_starts_at_need(void) {
    return option(&options.reclaim_thread) == THREAD_TRUE;
}

static bool starts_with_threads(void) {
    return option(&options.reclaim_thread) == THREAD_AUTO;
}

wide_bool reclaimer_lives(void) {
    return reclaimer_starts_at_need() ? reclaimer_state() != ROUNDS_BY_FREES : reclaimer_state() == RUNNING;
}

wide_bool reclaimer_must_end(void) {
    return atomic_load_explicit(&reclaimer->pauses, memory_order_relaxed) > 0;
}

void reclaimer_wake_pauses(void) {
    platform_futex_wake(&reclaimer->state);
}

/* Whether a pause keeps the thread from being started. */
static bool start_sees_pause(void) {
    /* [PA2] release: the state, for a pause that comes later and for a resume; a pause that came before is seen in any
     * case; pairs [PA1] [PA5]; clients pause_start, pause_successor */
    return atomic_fetch_add_explicit(&reclaimer->pauses, 0, memory_order_release) > 0;
}

/* No thread was started. */
static void end_start(uint32_t state) {
    atomic_store_explicit(&reclaimer->state, state, memory_order_relaxed);
    reclaimer_wake_pauses(); /* a pause may wait for the thread that was to come */
}

/* Starts the thread if the state is still `before`. A resume that reads RUNNING does nothing: another thread is
 * starting the thread. So a start that a pause refuses looks again whether the pause has gone. */
static void start_from(uint32_t before) {
    do {
        /* [TH4] acquire: the rounds of the last thread; pairs [TH2] [PA4]; client pause_successor */
        if (!atomic_compare_exchange_strong_explicit(&reclaimer->state, &before, RUNNING, memory_order_acquire,
                                                     memory_order_relaxed))
            return;
        if (!start_sees_pause()) {
            enum platform_start result = platform_thread_start(thread_body);
            /* too early: the last thread has announced its end but not yet left its stack; the next free tries again */
            if (result != START_STARTED) end_start(result == START_TOO_EARLY ? NO_THREAD : ROUNDS_BY_FREES);
            return;
        }
        end_start(before = ROUNDS_BY_FREES);
    } while (!start_sees_pause());
}

void reclaimer_start(void) {
    if (!reclaimer_starts_at_need()) {
        uint32_t before = NO_THREAD;
        atomic_compare_exchange_strong_explicit(&reclaimer->state, &before, ROUNDS_BY_FREES, memory_order_relaxed,
                                                memory_order_relaxed);
    } else if (!platform_in_borrowed_memory()) {
        start_from(NO_THREAD);
    }
}

void reclaimer_end(void) {
    /* [TH2] release: this thread's rounds; pairs [TH3] [TH4];
     * kept: TH7 and RC2 order them too, but for load buffering, which the checker does not explore */
    atomic_store_explicit(&reclaimer->state, NO_THREAD, memory_order_release);
}

bool reclaimer_go_on(void) {
    uint32_t expected = NO_THREAD;
    /* [TH3] acquire: as TH4, if another reclamation thread has run meanwhile; pairs [TH2]; kept: as TH2 */
    return atomic_compare_exchange_strong_explicit(&reclaimer->state, &expected, RUNNING, memory_order_acquire,
                                                   memory_order_relaxed);
}

void reclaimer_stop(void) {
    /* [PA4] release: this thread's rounds; pairs [PA3] [TH4]; client pause_round */
    atomic_store_explicit(&reclaimer->state, ROUNDS_BY_FREES, memory_order_release);
    reclaimer_wake_pauses();
}

void reclaimer_ask_again(void) {
    uint32_t refused = ROUNDS_BY_FREES;
    if (reclaimer_starts_at_need() &&
        atomic_compare_exchange_strong_explicit(&reclaimer->state, &refused, NO_THREAD, memory_order_relaxed,
                                                memory_order_relaxed))
        reclaimer_start();
}

static void start_with_threads(void) {
    if (!platform_allows_thread() || reclaimer_state() == RUNNING) return;
    start_from(reclaimer_state());
}

/* How many other threads of the program live; 0 or below: none. Where the start of threads is not seen (only their
 * heap is), a thread that never had one counts as one that lives. */
static int32_t other_threads(void) {
    /* [PA6] release: our thread's state: a thread that ends later sees it and stops our thread; pairs [PA7];
     * client thread_end_unseen */
    uint32_t ended = atomic_fetch_add_explicit(&reclaimer->ended, 0, memory_order_release);
    return (int32_t)(atomic_load_explicit(&reclaimer->made, memory_order_relaxed) - ended);
}

static bool others_live(void) {
    return other_threads() > 0;
}

void reclaimer_before_thread_create(void) {
    atomic_fetch_add_explicit(&reclaimer->made, 1, memory_order_relaxed);
}

wide_bool reclaimer_thread_seen(void) {
    uint32_t made = atomic_load_explicit(&reclaimer->made, memory_order_relaxed);
    if (made == 0) return false;
    uint32_t seen = atomic_fetch_add_explicit(&reclaimer->seen, 1, memory_order_relaxed) + 1;
    /* more threads seen than made: libc has made one of them. It counts as made, because its end will count, too.
     * Compared with the newest count, which has all those that the program has made and that are seen; relaxed: what is
     * written depends on the count of those seen */
    while ((int32_t)(seen - made) > 0 && !atomic_compare_exchange_weak_explicit(
                                             &reclaimer->made, &made, seen, memory_order_relaxed, memory_order_relaxed))
        continue;
    return true;
}

/* Whether the last stop that was not brief is less than an interval ago. */
static wide_bool stopped_lately(void) {
    uint32_t last = atomic_load_explicit(&reclaimer->last_stop, memory_order_relaxed);
    return last && (uint32_t)platform_milliseconds() - last < option(&options.reclaim_interval);
}

/* Counts a stop of the thread because the program has only one thread left. Returns whether it is brief. */
static bool count_stop(void) {
    bool brief = stopped_lately();
    uint32_t before = atomic_load_explicit(&reclaimer->brief_stops, memory_order_relaxed);
    atomic_store_explicit(&reclaimer->brief_stops, brief ? before + 1 : 0, memory_order_relaxed);
    if (!brief) atomic_store_explicit(&reclaimer->last_stop, (uint32_t)platform_milliseconds(), memory_order_relaxed);
    return brief;
}

/* Ends the thread and waits for its end. `alone`: because the program has only one thread left. Returns whether there
 * was a thread. */
static wide_bool stop_and_wait(bool alone) {
    bool ran = false;
    /* [PA3] acquire: the thread's rounds; pairs [PA4]; client pause_round */
    while (atomic_load_explicit(&reclaimer->state, memory_order_acquire) == RUNNING) {
        ran = true;
        reclaimer_wake_to_end();
        platform_futex_wait(&reclaimer->state, RUNNING, UINT32_MAX); /* until the state changes */
    }
    if (!ran) return false;
    reclaimer_take_wakeup(); /* the thread may not have seen it: it must not shorten the next thread's first wait */
    thread_stopped(alone && count_stop());
    return true;
}

/* One pause of the program, and one of our own, in the count of pauses. A resume must end no pause of our own. */
#define ONE_PAUSE 1u
#define ONE_OWN_PAUSE 0x100000u

static void begin_pause(uint32_t one) {
    /* [PA1] acquire: the state of a thread that is being started; a later start sees the pause; pairs [PA2];
     * client pause_start */
    atomic_fetch_add_explicit(&reclaimer->pauses, one, memory_order_acquire);
}

/* Returns whether no other pause is left. */
static wide_bool end_pause(uint32_t one) {
    uint32_t pauses = atomic_load_explicit(&reclaimer->pauses, memory_order_relaxed);
    do {
        if (one == ONE_PAUSE ? pauses % ONE_OWN_PAUSE == 0 : pauses < ONE_OWN_PAUSE) return false;
        /* [PA5] acquire: the state after a start that this pause has refused; pairs [PA2]; client pause_successor */
    } while (!atomic_compare_exchange_weak_explicit(&reclaimer->pauses, &pauses, pauses - one, memory_order_acquire,
                                                    memory_order_relaxed));
    return pauses == one;
}

void reclaimer_pause(void) {
    begin_pause(ONE_PAUSE);
    if (stop_and_wait(false)) atomic_store_explicit(&reclaimer->stopped, 1, memory_order_relaxed);
    platform_threads_gone(true);
}

/* Stops our thread: the program has only its first thread left. */
static void stop_alone(void) {
    begin_pause(ONE_OWN_PAUSE);
    stop_and_wait(true);
    platform_threads_gone(false);
    /* a thread made meanwhile could not start ours */
    if (end_pause(ONE_OWN_PAUSE) && others_live()) start_with_threads();
}

/* Starts our thread if other threads of the program live. The last of them may end before it can see ours. */
static void start_beside_others(void) {
    if (!starts_with_threads()) return;
    if (others_live()) start_with_threads();
    if (reclaimer_state() == RUNNING && !others_live()) stop_alone();
}

void reclaimer_resume(void) {
    if (!end_pause(ONE_PAUSE)) return;
    bool stopped = atomic_exchange_explicit(&reclaimer->stopped, 0, memory_order_relaxed);
    if (reclaimer_starts_at_need()) start_from(ROUNDS_BY_FREES);
    else if (stopped) start_beside_others();
}

/* Whether the program makes one thread after the other, so that ours would be stopped at once. */
static bool start_would_be_brief(void) {
    return atomic_load_explicit(&reclaimer->brief_stops, memory_order_relaxed) >= BRIEF_STOPS_MOST &&
           other_threads() == 1 && stopped_lately();
}

void reclaimer_after_thread_create(bool made) {
    if (made && !start_would_be_brief()) start_beside_others();
    else if (!made) atomic_fetch_sub_explicit(&reclaimer->made, 1, memory_order_relaxed);
}

void reclaimer_thread_ends(void) {
    /* [PA7] acquire: as PA6; pairs [PA6]; client thread_end_unseen */
    atomic_fetch_add_explicit(&reclaimer->ended, 1, memory_order_acquire);
    if (starts_with_threads() && reclaimer_state() == RUNNING && !others_live()) stop_alone();
}
