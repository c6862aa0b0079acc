/* remote_reclaim.c - a round gives back the pages of slabs that other threads have emptied. */
#include "frontend/remote_reclaim.h"

#include "backend/give_run.h"
#include "backend/root.h"
#include "backend/thrift.h"
#include "backend/thrift_counters.h"
#include "backend/timed_purge.h"
#include "config/policy.h"
#include "frontend/heap.h"
#include "frontend/remote_work.h"
#include "platform/assert.h"

static _Atomic(uint32_t) round_state;
enum { NO_ROUND, IN_ROUND, ONE_MORE }; /* ONE_MORE: another thread wants all free slabs given back now */

/* One pass over all slabs. */
struct pass {
    bool now, soon;      /* soon: there are slabs for the next one */
    uint32_t unfinished; /* objects that are out of slabs that others have freed into, and that are not free */
    uint32_t waiting;    /* of these slabs: those of which others have freed at least half of what is out */
    struct give_run run; /* slabs that are taken and not given back yet */
};

static void end_giving(granule_id id, bool given) {
    struct slab *slab = record_at(id);
    if (given) other_bytes_add(-(intptr_t)GRANULE_SIZE);
    cross_end_giving(&slab->cross, given);
}

/* Returns how many objects of a watched slab are out, or a larger number; 0 while the owner works on the slab. */
static unsigned most_out(const struct slab *slab) {
    /* [RR2] acquire: the budget; pairs [RR1]; client remote_epoch */
    enum slab_state state = (enum slab_state)atomic_load_explicit(&slab->state, memory_order_acquire);
    unsigned budget = relaxed_load(&slab->freed.budget);
    unsigned class = relaxed_load(&slab->class);
    if (state == PARTIAL) return budget;
    if (state == WANTED) return size_class_capacity(class) - 1 + budget;
    return state == FULL ? size_class_capacity(class) - size_classes[class].frees_until_reopen + budget : 0;
}

/* Looks at a slab that is taken already. KEPT: the OS may accept now what it has refused before. GIVING: in the child
 * of a fork, a thread of the parent was giving the slab back. */
static void scan_taken_slab(granule_id id, struct cross_word word, struct pass *pass) {
    struct slab *slab = record_at(id);
    if (cross_is_giving(word) ||
        (cross_is_kept(word) && cross_is_watched(word) && cross_begin_giving(&slab->cross, word)))
        give_run_add(&pass->run, id);
}

static void scan_cross_list(granule_id id, struct pass *pass) {
    struct slab *slab = record_at(id);
    /* relaxed: a watched slab was watched by an earlier round, which had acquired all before (RR6, RR13) */
    struct cross_word word = cross_get(&slab->cross);
    bool watched = cross_is_watched(word);
    if (cross_is_full(word) || cross_count_of(word) == 0) return;
    if (cross_is_taken(word)) {
        scan_taken_slab(id, word, pass);
        return;
    }
    if (!watched && !cross_watch(&slab->cross, &word)) return;
    unsigned out = most_out(slab);
    if (out != cross_count_of(word)) {
        pass->unfinished += out;
        pass->waiting += out > 0 && out <= 2 * cross_count_of(word);
        return;
    }
    if (!watched && !pass->now) {
        pass->soon = true;
        return;
    }
    if (cross_begin_giving(&slab->cross, word)) give_run_add(&pass->run, id);
}

static void scan_cross_lists(granule_id root, void *context) {
    struct pass *pass = context;
    if (!root_has_slabs(root)) return;
    /* relaxed: a record that no thread has written yet has no object in its list */
    for (granule_id id = root, step; id < root + ROOT_GRANULES; id += step) {
        struct leaf_word leaf = leaf_get_fast(id);
        step = granules_to_next(id, leaf);
        if (leaf_is_slab(leaf)) scan_cross_list(id, pass);
    }
    give_run_end(&pass->run);
}

/* Begins a round. False: another thread is in a round; if `now`, that thread makes one more pass. */
static wide_bool begin_remote_round(bool now) {
    for (;;) {
        uint32_t state = NO_ROUND;
        /* [RR12] acquire: the last round is over; pairs [RR13]; client remote_rounds */
        if (atomic_compare_exchange_strong_explicit(&round_state, &state, IN_ROUND, memory_order_acquire,
                                                    memory_order_relaxed))
            return true;
        if (!now || state == ONE_MORE ||
            atomic_compare_exchange_strong_explicit(&round_state, &state, ONE_MORE, memory_order_relaxed,
                                                    memory_order_relaxed))
            return false;
    }
}

/* Ends the round. False: another thread has asked for one more pass. */
static wide_bool end_remote_round(void) {
    uint32_t state = IN_ROUND;
    /* [RR13] release: this round; pairs [RR12]; client remote_rounds */
    if (atomic_compare_exchange_strong_explicit(&round_state, &state, NO_ROUND, memory_order_release,
                                                memory_order_relaxed))
        return true;
    atomic_store_explicit(&round_state, IN_ROUND, memory_order_relaxed);
    return false;
}

/* Relaxed: written and read in rounds only. */
static _Atomic(bool) remote_again;        /* the next round must look */
static _Atomic(uint32_t) unfinished_seen; /* by the last pass that found another number */
static _Atomic(uint32_t) waiting_slabs;   /* at the end of the last pass */

/* Ends a pass over all slabs. Most frees by owners ask for no round. So the slabs of owners that are freeing now are
 * looked at soon, the others some times more (remote_reclaim_waits), or when a round comes for another reason. */
static void end_pass(struct pass *pass) {
    uint32_t change = pass->unfinished - atomic_load_explicit(&unfinished_seen, memory_order_relaxed);
    if (change + REMOTE_ROUND_FROM - 1 > 2 * (REMOTE_ROUND_FROM - 1)) {
        atomic_store_explicit(&unfinished_seen, pass->unfinished, memory_order_relaxed);
        pass->soon = true;
    }
    atomic_store_explicit(&waiting_slabs, pass->waiting, memory_order_relaxed);
    atomic_store_explicit(&remote_again, pass->soon || pass->run.refused || pass->unfinished > 0, memory_order_relaxed);
}

bool remote_reclaim_round(bool now) {
    if (!begin_remote_round(now)) return false;
    struct pass pass;
    pass.now = now;
    pass.soon = false;
    give_run_begin(&pass.run, end_giving);
    for (;; pass.now = true) {
        bool wanted = remote_work_begin_period();
        if (wanted || pass.now || atomic_load_explicit(&remote_again, memory_order_relaxed)) {
            pass.soon = pass.run.refused = false;
            pass.unfinished = pass.waiting = 0;
            page_map_walk(scan_cross_lists, &pass);
            end_pass(&pass);
        }
        if (end_remote_round()) return pass.soon;
    }
}

wide_bool remote_reclaim_waits(void) {
    uint32_t slabs = atomic_load_explicit(&waiting_slabs, memory_order_relaxed);
    if (slabs < REMOTE_WAITING_FROM) return false;
    thrift_may_hold(slabs);
    return true;
}

bool remote_reclaim_purge(struct purge *purge) {
    if (!begin_remote_round(true)) return true; /* the thread in the round makes one more pass */
    struct pass pass;
    pass.now = true;
    pass.soon = false;
    pass.unfinished = pass.waiting = 0;
    give_run_begin(&pass.run, end_giving);
    bool over = !purge_walk(purge, scan_cross_lists, &pass);
    if (over || pass.run.refused) atomic_store_explicit(&remote_again, true, memory_order_relaxed);
    while (!end_remote_round()) page_map_walk(scan_cross_lists, &pass); /* as remote_reclaim_round, for that thread */
    return !over;
}

void remote_reclaim_after_fork(void) {
    atomic_store_explicit(&round_state, NO_ROUND, memory_order_relaxed);
}
