/* watermark.c - notes the peak of what is in use, and computes the limits from it. */
#include "backend/watermark.h"

#include "backend/limits.h"
#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/reclaimer.h"
#include "backend/root.h"
#include "backend/thrift_counters.h"
#include "base/compiler.h"
#include "base/mitigations.h"
#include "config/options.h"
#include "config/policy.h"

/* Peak of granules in use: since the last round, and in the round before. A thread notes what is in use at three
 * moments: memory without pages comes into use, a range is freed while much is cached, the thread looks how much it may
 * cache. Without the reclamation thread only the first counts: there the peak does not become older while the program
 * is quiet. */
static _Atomic(size_t) most_in_use[2];

static NOINLINE struct usage usage_now(void) {
    size_t cached = free_granules(MAPPED) + free_granules(UNMAPPED);
    size_t granules = root_count() * ROOT_GRANULES + (mapping_cache_bytes() >> JW_GRANULE_SHIFT);
    size_t huge = huge_bytes_in_use() >> JW_GRANULE_SHIFT, all = (granules > cached ? granules - cached : 0) + huge;
    return (struct usage){.all = all, .huge = huge};
}

NOINLINE struct usage watermark_note_peak(void) {
    struct usage usage = usage_now();
    if (usage.all > NEAR_LOAD(most_in_use[0])) atomic_store_explicit(&most_in_use[0], usage.all, memory_order_relaxed);
    return usage;
}

void watermark_age_peak(void) {
    size_t most = atomic_exchange_explicit(&most_in_use[0], 0, memory_order_relaxed);
    atomic_store_explicit(&most_in_use[1], most, memory_order_relaxed);
}

/* Without the reclamation thread: granules in use at a free's last look (0: there was none), and what was freed in a
 * row until then. A look that another thread's look overwrites is lost. */
static _Atomic(size_t) last_in_use, freed_in_row;

/* Frees add to what was freed in a row. What has come into use takes USE_AGAINST_FREED times as much from it.
 * `since_peak`: what was freed since the peak. All of it counts at the first look, and more never does. */
static size_t note_freed(size_t in_use, size_t since_peak) {
    size_t last = NEAR_LOAD(last_in_use), freed = since_peak;
    if (last) {
        size_t used = in_use > last ? USE_AGAINST_FREED * (in_use - last) : 0;
        freed = NEAR_LOAD(freed_in_row) + (in_use < last ? last - in_use : 0);
        freed -= used < freed ? used : freed;
        if (freed > since_peak) freed = since_peak;
    }
    atomic_store_explicit(&last_in_use, in_use, memory_order_relaxed);
    atomic_store_explicit(&freed_in_row, freed, memory_order_relaxed);
    return freed;
}

size_t watermark_minimum(void) {
    return UNLIKELY(limits_are_exceeded()) ? 0 : option(&options.cache_min) >> JW_GRANULE_SHIFT;
}

static size_t recent_peak(void) {
    size_t most = NEAR_LOAD(most_in_use[0]);
    size_t before = NEAR_LOAD(most_in_use[1]);
    return before > most ? before : most;
}

bool watermark_rises(struct usage usage, size_t granules) {
    return usage.all + granules > recent_peak();
}

/* Granules that may wait mapped while `usage` is in use. The limit has two parts: the peak of the last two rounds less
 * the granules in use, and a share of that peak. The share is at least `least`. So a program that frees much memory and
 * soon allocates it again needs no new pages, and its peak is hardly higher.
 *
 * `lives`: the reclamation thread. Without it no round comes when the program falls quiet. So there is no first part,
 * and twice what was freed in a row is subtracted from the peak. The share is of the rest, or of twice what is in use,
 * if that is less. */
static COLD size_t limit_above_peak(struct usage usage, size_t percent, size_t least, wide_bool lives) {
    size_t most = recent_peak();
    if (usage.all > most) most = usage.all; /* another thread may have lowered the peak */
    size_t freed = most - usage.all;
    intptr_t shared = (intptr_t)(most - usage.huge);
    if (!lives) {
        size_t less = 2 * note_freed(usage.all, freed), twice = 2 * usage.all;
        shared = (intptr_t)((most < twice + less ? most - less : twice) - usage.huge);
        freed = 0;
    }
    size_t share = (size_t)(shared > 0 ? shared : 0) * percent / 100;
    return freed + (share > least ? share : least);
}

static size_t watermark_for(wide_bool lives, wide_bool of_mappings) {
    if (UNLIKELY(limits_are_exceeded())) return 0;
    size_t percent = option(&options.cache_percent), least = option(&options.cache_min) >> JW_GRANULE_SHIFT;
    if (percent == 0) return least;
    if (!lives && least - 1 < KEPT_MOST && reclaimer_stopped_briefly()) least = KEPT_MOST; /* not with cache_min:0 */
    if (CLASSES_APART && !lives) return least; /* slabs that wait in regions without pages count as in use there */
    struct usage usage = lives ? watermark_note_peak() : usage_now();
    if (lives && NEAR_LOAD(last_in_use)) atomic_store_explicit(&last_in_use, 0, memory_order_relaxed);
    if (!lives) usage.huge = of_mappings ? 0 : vast_bytes_in_use() >> JW_GRANULE_SHIFT;
    return limit_above_peak(usage, percent, least, lives);
}

size_t watermark_without_thread(void) {
    return watermark_for(false, false);
}

size_t watermark_renew(void) {
    return watermark_for(reclaimer_lives(), false);
}

size_t watermark_of_mappings(void) {
    return watermark_for(reclaimer_lives(), true);
}

size_t watermark_beside_new(struct usage usage) {
    return limit_above_peak(usage, PERCENT_BESIDE_NEW, watermark_minimum() / PART_BESIDE_NEW, true);
}

size_t watermark_room(size_t watermark) {
    size_t cached = free_granules(MAPPED);
    return watermark > cached ? (watermark - cached) << JW_GRANULE_SHIFT : 0;
}
