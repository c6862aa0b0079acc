/* thrift.c - Thrift's rounds, their thread, the watermark, and what is given back when memory is short. */
#include "backend/thrift.h"

#include "backend/reclaimer.h"
#include "backend/root.h"
#include "backend/waiting.h"
#include "base/assert.h"
#include "base/compiler.h"
#include "base/mixed.h"
#include "config/options.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"
#include "platform/platform.h"

static _Atomic(uint32_t) frees_refused;
static _Atomic(uint64_t) last_round; /* milliseconds */
/* Peak of granules in use: since the last round, and in the round before. Noted when memory without pages comes into
 * use, when a range is freed while much is cached, and when a thread looks how much it may have at hand. */
static _Atomic(size_t) most_in_use[2];
static _Atomic(bool) at_peak;                      /* as thrift_expect saw it last */
static _Atomic(round_hook) hooks[ROUND_STAGES][2]; /* [1]: for a purge */
static _Atomic(uint32_t) os_refused;               /* a boolean: madvise has failed since the last look */
static _Atomic(size_t) rollbacks_seen;
struct thrift_counters thrift_counters;

static void note(_Atomic(size_t) *counter, size_t amount) {
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

void thrift_on_round(enum round_stage stage, round_hook round, round_hook purge) {
    atomic_store_explicit(&hooks[stage][false], round, memory_order_relaxed);
    atomic_store_explicit(&hooks[stage][true], purge, memory_order_relaxed);
}

/* Whether the range has a whole OS page: not always, where the kernel's pages are larger than our granule. */
static bool can_give_back(granule_id range, uint32_t weight) {
    uintptr_t page = platform_page_size(), start = (uintptr_t)granule_address(range);
    return ((start + page - 1) & ~(page - 1)) + page <= start + weight * GRANULE_SIZE;
}

bool thrift_discard(void *start, size_t size) {
    uintptr_t page = platform_page_size(), from = ((uintptr_t)start + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)start + size) & ~(page - 1);
    if (from >= to) return true;
    bool given = platform_discard((void *)from, to - from);
    if (given) note(&thrift_counters.given_back, to - from);
    else atomic_store_explicit(&os_refused, true, memory_order_relaxed);
    return given;
}

/* Gives the pages of a held range back. False when they stay. */
static bool give_range_back(granule_id range, uint32_t weight) {
    return can_give_back(range, weight) && thrift_discard(granule_address(range), weight * GRANULE_SIZE);
}

/* Returns the granules that stay mapped. */
static size_t give_back_or_keep(granule_id range, uint32_t weight, bool room) {
    if (!give_range_back(range, weight)) return range_place_kept(range, weight, room);
    range_place_known(range, weight, UNMAPPED);
    return 0;
}

size_t thrift_give_back(granule_id range, uint32_t weight) {
    return give_back_or_keep(range, weight, false);
}

static size_t empty_buffer(unsigned nest, bool room) {
    size_t kept = 0;
    for (unsigned class = RANGE_CLASSES; class -- > 0;) {
        granule_id range;
        for (unsigned left = ROUND_TAKES; left > 0 && (range = range_acquire_from(nest, class)); left--) {
            size_t stays = give_back_or_keep(range, weight_of_class(class), room);
            kept += stays;
            /* the buffers were swapped meanwhile: the loop would find the range that it put back again */
            if (stays && nest % NESTS_OF_USE == atomic_load_explicit(&ownership.active, memory_order_relaxed)) break;
        }
    }
    return kept;
}

/* Empties a mapped buffer, the standby one, into the unmapped Nest. Ranges that cannot be given back go to the active
 * buffer; returns their granules. `room`: whole roots are wanted, also of pages that cannot be given back. */
static size_t reclaim(unsigned buffer, bool room) {
    size_t kept = 0;
    note(&thrift_counters.given_back, waiting_drop(buffer, SIZE_MAX));
    for (unsigned use = 0; use < ROOT_USES; use++) kept += empty_buffer(buffer + use * NESTS_OF_USE, room);
    return kept;
}

/* After rollbacks, unmapped neighbours may have stayed apart (LEFT, see ownership.h), so that a root is not whole; or
 * the OS has refused to take a root. This places all unmapped ranges once more: neighbours join, and whole roots are
 * offered again. reclaim does the same for mapped ranges. */
static void rejoin_unmapped(void) {
    size_t rollbacks = atomic_load_explicit(&ownership.rollbacks, memory_order_relaxed);
    if (atomic_exchange_explicit(&rollbacks_seen, rollbacks, memory_order_relaxed) == rollbacks) return;
    for (unsigned i = 0; i < ROOT_USES * RANGE_CLASSES; i++) {
        unsigned nest = i % ROOT_USES * NESTS_OF_USE + UNMAPPED_NEST, class = i / ROOT_USES;
        granule_id chain = 0, range; /* linked by the link words, which belong to the holder */
        for (unsigned left = ROUND_TAKES; left > 0 && (range = range_acquire_from(nest, class)); left--) {
            range_set_next(range, chain);
            chain = range;
        }
        while ((range = chain)) {
            chain = range_next(range);
            range_place(range, UNMAPPED);
        }
    }
}

/* Returns the buffer that is the standby one from now on. */
static unsigned swap_buffers(void) {
    /* relaxed: a thread that still fills the old buffer only shortens that range's wait */
    return atomic_fetch_xor_explicit(&ownership.active, 1, memory_order_relaxed);
}

/* `now`: a purge, all memory must go now. */
static bool begin_round(bool now) {
    bool more = false;
    for (unsigned stage = 0; stage < ROUND_STAGES; stage++) {
        round_hook hook = atomic_load_explicit(&hooks[stage][now], memory_order_relaxed);
        more |= hook && hook();
    }
    range_place_deferred();
    rejoin_unmapped();
    if (now) root_unmap_spares();
    else more |= root_round();
    return more | unmap_deferred();
}

/* Whether the OS has refused something in this round, so that a later round must try again. */
static bool refusals(void) {
    return atomic_exchange_explicit(&os_refused, false, memory_order_relaxed) ||
           atomic_load_explicit(&ownership.rollbacks, memory_order_relaxed) !=
               atomic_load_explicit(&rollbacks_seen, memory_order_relaxed);
}

static void age_peak(void) {
    size_t most = atomic_exchange_explicit(&most_in_use[0], 0, memory_order_relaxed);
    atomic_store_explicit(&most_in_use[1], most, memory_order_relaxed);
}

/* `woken`: the round ends early, above the watermark; then the recorded peak stays. */
static size_t end_round(unsigned standby, bool woken) {
    note(&thrift_counters.rounds, 1);
    if (!woken) age_peak();
    return reclaim(standby, false);
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
    unsigned standby = swap_buffers();
    wait_for_round(rounds->quiet, rounds->kept);
    if (reclaimer_must_end()) return false;
    /* [PA10] acquire: as PA9; pairs [PA8]; kept: without it a pause may wait for one round more */
    rounds->woken = atomic_exchange_explicit(&reclaimer->pressure, 0, memory_order_acquire);
    rounds->kept = end_round(standby, rounds->woken);
    rounds->more |= refusals();
    rounds->quiet = nothing_left(rounds->kept) && !rounds->woken ? rounds->quiet + 1 : 0;
    return true;
}

/* Nothing is left to do: the thread ends, or waits for work where it may not be started at need. True: it has ended. */
static bool end_or_wait(struct rounds *rounds) {
    age_peak(); /* the next round may be far */
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
    swap_buffers();
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

static size_t least_kept(void) {
    return option(&options.cache_min) >> JW_GRANULE_SHIFT;
}

bool thrift_has_thread(void) {
    return reclaimer_lives();
}

static size_t outside_roots(void) {
    return atomic_load_explicit(&thrift_counters.outside, memory_order_relaxed);
}

/* Granules in use: all, and those of huge objects among them. */
struct use {
    size_t all, huge;
};

/* Notes in the peak how many are in use now, and returns that. */
static NOINLINE struct use peak_note(void) {
    size_t cached = range_cached(MAPPED) + range_cached(UNMAPPED);
    size_t granules = root_count() * ROOT_GRANULES + (waiting_kept() >> JW_GRANULE_SHIFT);
    size_t huge = outside_roots() >> JW_GRANULE_SHIFT, all = (granules > cached ? granules - cached : 0) + huge;
    if (all > atomic_load_explicit(&most_in_use[0], memory_order_relaxed))
        atomic_store_explicit(&most_in_use[0], all, memory_order_relaxed);
    return (struct use){.all = all, .huge = huge};
}

/* Granules that may wait mapped while so many are in use. The limit has two parts: the peak of the last two rounds less
 * what is in use, and a share of that peak. The share is at least a minimum. So a program that frees much and soon
 * allocates it again needs no new pages, and its peak is hardly higher. */
static size_t watermark(struct use use, size_t percent, size_t least) {
    size_t most = atomic_load_explicit(&most_in_use[0], memory_order_relaxed);
    size_t before = atomic_load_explicit(&most_in_use[1], memory_order_relaxed);
    if (before > most) most = before;
    if (use.all > most) most = use.all; /* another thread's store, or a round's end, may have passed by */
    size_t share = (most > use.huge ? most - use.huge : 0) * percent / 100;
    return most - use.all + (share > least ? share : least);
}

size_t thrift_room(void) {
    size_t cached = range_cached(MAPPED), mark = least_kept(), percent = option(&options.cache_percent);
    if (reclaimer_lives() && percent > 0) mark = watermark(peak_note(), percent, mark);
    return mark > cached ? (mark - cached) << JW_GRANULE_SHIFT : 0;
}

/* Whether so many granules are more than may wait. A thread that asks for more than the minimum notes what is in
 * use. */
static bool above_watermark(size_t cached) {
    /* without the reclamation thread only the minimum: no round comes while the program is quiet */
    size_t least = least_kept(), percent = reclaimer_lives() ? option(&options.cache_percent) : 0;
    if (cached <= least || percent == 0) return cached > least;
    return cached > watermark(peak_note(), percent, least);
}

void thrift_free(granule_id range, uint32_t weight) {
    if (UNLIKELY(above_watermark(range_cached(MAPPED) + weight))) {
        bool given = give_range_back(range, weight);
        range_place_known(range, weight, given ? UNMAPPED : MAPPED);
        if (given) {
            note(&thrift_counters.sync_reclaims, 1);
            reclaimer_wake();
        }
    } else {
        range_place_known(range, weight, MAPPED);
    }
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
    reclaim(!active, true);
    swap_buffers();
    if (reclaim(active, true) > 0) { /* once more: what the OS has refused may be whole roots by now */
        swap_buffers();
        reclaim(!active, true);
    }
    complete_first_root();
    return atomic_load_explicit(&thrift_counters.given_back, memory_order_relaxed) - before;
}

/* Gives back about this many granules, waiting mappings and the largest ranges first. */
static void give_ranges_back(size_t granules) {
    size_t dropped = waiting_drop(ANY_BUFFER, granules);
    note(&thrift_counters.given_back, dropped);
    dropped >>= JW_GRANULE_SHIFT;
    granules -= dropped < granules ? dropped : granules;
    for (unsigned class = RANGE_CLASSES; class -- > 0;)
        for (unsigned nest = 0; nest < NESTS; nest++) {
            granule_id range;
            while (!nest_is_unmapped(nest) && granules > 0 && (range = range_acquire_from(nest, class))) {
                uint32_t weight = weight_of_class(class);
                bool given = give_range_back(range, weight);
                range_place_known(range, weight, given ? UNMAPPED : MAPPED);
                if (!given) return;
                granules -= weight < granules ? weight : granules;
            }
        }
}

void thrift_expect(size_t granules) {
    /* asked even if little waits: when more is wanted, most is in use */
    size_t cached = range_cached(MAPPED),
           mark = watermark(peak_note(), PERCENT_BESIDE_NEW, least_kept() / PART_BESIDE_NEW);
    bool above = cached + granules > mark;
    if (above != atomic_load_explicit(&at_peak, memory_order_relaxed))
        atomic_store_explicit(&at_peak, above, memory_order_relaxed);
    if (option(&options.cache_percent) == 0 && mark > least_kept()) mark = least_kept();
    if (cached == 0 || cached + granules <= mark) return;
    give_ranges_back(cached + granules - mark < cached ? cached + granules - mark : cached);
}

bool thrift_is_at_peak(void) {
    return atomic_load_explicit(&at_peak, memory_order_relaxed);
}

/* At most the bytes of all roots can be given back; in the hardened build also quarantined huge objects. The OS must
 * have the rest now, which a probe tells. With 32 bits a probe says nothing: two gaps may become one. */
bool thrift_may_help(size_t size) {
    size_t ours = (root_count() + root_spares()) * ROOT_SIZE + (QUARANTINED ? outside_roots() : waiting_addresses());
    if (size <= ours || sizeof(void *) < 8) return true;
    size_t unit = platform_page_size(), beyond = (size - ours) & ~(unit - 1);
    void *probe = beyond ? platform_reserve(beyond, unit, "jwmalloc: probe") : NULL;
    if (probe) unmap_or_defer(probe, beyond);
    return !beyond || probe;
}

bool thrift_make_room(size_t size) {
    if (!thrift_may_help(size)) return false;
    size_t cached = range_cached(MAPPED);
    bool waits = root_unmap_spares() || cached > 0;
    return thrift_purge() > 0 || waits; /* even if nothing is cached here: abandoned heaps may have memory */
}

COLD uint64_t thrift_signs(void) {
    uint64_t signs = mixed(range_cached(MAPPED) + mixed(range_cached(UNMAPPED)));
    signs = mixed(signs + root_count() + ((uint64_t)root_spares() << 32));
    signs = mixed(signs + outside_roots() + waiting_kept());
    return mixed(signs + atomic_load_explicit(&ownership.rollbacks, memory_order_relaxed));
}

/* No thread runs rounds from now on: gives back the memory of ended threads, and what is cached above the minimum. */
static void reclamation_stops(void) {
    begin_round(false);
    size_t cached = range_cached(MAPPED), least = least_kept();
    if (cached > least) give_ranges_back(cached - least);
}

void thrift_start(void) {
    reclaimer_runs(reclamation_thread, reclamation_stops);
}

void thrift_forget_thread(void) {
    reclaimer_forget();
}
