/* purge.c - the steps of a purge with a limit of time (purge.h). */
#include "core/purge.h"

#include <stdbool.h>

#include "backend/thrift.h"
#include "backend/thrift_buffers.h"
#include "backend/timed_purge.h"
#include "config/options.h"
#include "config/policy.h"
#include "core/start.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_rounds.h"
#include "frontend/remote_reclaim.h"
#include "midend/midend.h"
#include "platform/platform.h"

enum step { STEP_OWN, STEP_ENDED, STEP_EMPTIED, STEP_CACHES, STEP_MID, STEP_SHARED, STEP_RANGES, STEPS };

/* Only this file knows the bits. */
#define PLACES 0x10000000u
_Static_assert(STEPS - 1 <= UINT32_MAX / PLACES, "a step fits above its place");
_Static_assert(HEAP_CHUNKS *JW_HEAPS_PER_CHUNK < PLACES && 1ull << (JW_WINDOW_SHIFT - JW_ROOT_SHIFT) < PLACES,
               "the number of a heap, or of a root's slot, is a place");
static _Atomic(uint32_t) next_pieces[PURGE_LEVELS];

/* True: the step has nothing left. False: the time is over. */
static bool run_step(enum step step, struct purge *purge) {
    switch (step) {
    case STEP_OWN: return heap_purge_own(purge);
    case STEP_ENDED: return heap_purge_ended(purge);
    case STEP_EMPTIED: return remote_reclaim_purge(purge);
    case STEP_CACHES: return heap_purge_caches(purge);
    case STEP_MID: return midend_purge(purge);
    case STEP_SHARED: thrift_purge_shared(); return true;
    default: return thrift_purge_ranges(purge);
    }
}

static const uint8_t first_steps[PURGE_LEVELS] = {
    [PURGE_SHARED] = STEP_SHARED, [PURGE_THREADS] = STEP_ENDED, [PURGE_OWN] = STEP_OWN};

/* The rest of the steps from where the last call has ended; then all steps once, unless these were all. */
static void run_steps(struct purge *purge, enum purge_level level) {
    _Atomic(uint32_t) *next_piece = &next_pieces[level];
    uint32_t word = atomic_load_explicit(next_piece, memory_order_relaxed), step = word / PLACES;
    const uint32_t first = first_steps[level];
    purge->place = word % PLACES;
    if (step < first) {
        step = first;
        purge->place = 0;
    }
    bool again = step > first || purge->place > 0, over = false;
    while (!over && step < STEPS) {
        over = !run_step((enum step)step, purge);
        if (over) break;
        purge->place = 0;
        if (++step == STEPS && again) {
            again = false;
            step = first;
        }
        over = purge_is_over(purge);
    }
    word = step < STEPS ? step * PLACES + purge->place % PLACES : 0;
    atomic_store_explicit(next_piece, word, memory_order_relaxed);
}

size_t purge_for(enum purge_level level, uint64_t microseconds) {
    struct purge purge = {.until = NO_LIMIT};
    if (!allocator_start()) return 0;
    if (microseconds != NO_LIMIT && __builtin_add_overflow(platform_microseconds(), microseconds, &purge.until))
        purge.until = NO_LIMIT;
    size_t before = thrift_given_back();
    run_steps(&purge, level);
    if (option(&options.spare_callers)) thrift_wake(); /* what this thread may not give back */
    return thrift_given_back() - before;
}
