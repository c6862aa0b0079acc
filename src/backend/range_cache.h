/* range_cache.h - freed ranges of large objects that wait for the next ones of the thread that freed them.
 *
 *   slot   | 31..25 zero | 24 old | 23..0 range, 0: none |       a few cells (sync/cell.h) of each class, in each heap
 *
 *   0 -> range            push      fill       the heap's thread
 *   range, any -> 0       pop       take_own   the heap's thread
 *   range -> range, old   drain     change     a round that finds the range for the first time
 *   range, old -> 0       drain     change     the next round: gives its pages back
 *   range, any -> 0       drain     take       a purge; the heap's thread at its end: frees it
 *
 * A cached range is held: its leaf word is HELD, so that a second free finds no large object. Only the heap's thread
 * pushes, so a slot that this thread has seen empty stays empty until it pushes. The exchange of a pop decides whether
 * this thread or a round gets the range.
 *
 *   drained   granules that drains have taken, ever: only grows. From it the heap's thread learns how many granules
 *             have left its cache
 *
 * Invariant: a range is in one slot, or in the hands of one thread, or a live object's, or placed.
 * Progress: pop is wait-free. A push is lock-free: it may free the range to the Nest, wake the reclamation thread, or
 * run a round that is due. docs/protocols/range-cache.md; clients range_cache_*. The hardened build has no range cache:
 * its quarantine decides which objects come back.
 */
#ifndef JW_RANGE_CACHE_H
#define JW_RANGE_CACHE_H

#include <stdbool.h>

#include "backend/page_map.h"
#include "backend/weights.h"
#include "config/policy.h"
#include "platform/host.h"
#include "sync/cell.h"

/* Slots of a class that are used; entries of its array, which are one more if there are none: C has no empty arrays. */
enum { RANGE_CACHE_WAYS = JW_RANGE_CACHE_WAYS, RANGE_CACHE_SLOTS = RANGE_CACHE_WAYS + !RANGE_CACHE_WAYS };

#define RANGE_CACHE_OLD (1u << 24)
_Static_assert(RANGE_CACHE_OLD > ID_MASK, "a granule's number fits below the mark");

/* Only this file knows the bits of a slot. */
static ALWAYS_INLINE granule_id range_cache_range(uint32_t word) {
    return word & ID_MASK;
}

static inline bool range_cache_is_old(uint32_t word) {
    return word & RANGE_CACHE_OLD;
}

static inline uint32_t range_cache_with_old(granule_id range) {
    return range | RANGE_CACHE_OLD;
}

struct range_cache {
    struct cell slots[RANGE_CLASSES][RANGE_CACHE_SLOTS];
    uint64_t filled; /* a bit for each class that may have ranges. This and the next five: for the heap's thread */
    int32_t room;    /* granules that may still be pushed */
    int32_t most;    /* the room with nothing cached, in granules; negative if too much waits elsewhere */
    _Atomic(int32_t) quiet_room; /* with more room than this no round is needed, in granules; rounds forget it */
    uint32_t pushes;             /* calls of push that found an empty slot */
    uint32_t drained_seen;       /* `drained` at the last look */
    _Atomic(uint32_t) drained;   /* granules that drains have taken */
};

#if JW_HOSTED
#define range_cache_mine ((struct range_cache *)NULL)
static inline void range_cache_enter(struct range_cache *cache) {
    (void)cache;
}
#else
/* The calling thread's range cache; NULL: the thread has no heap. */
extern _Thread_local struct range_cache *range_cache_mine HIDDEN __attribute__((tls_model("initial-exec")));

/* Makes the cache the calling thread's. NULL: from now on the thread has none. */
void range_cache_enter(struct range_cache *cache);

/* Frees the ranges of the calling thread's cache, which takes none from now on, until the thread enters it again. */
void range_cache_close(struct range_cache *cache);
#endif

/* Pushes a held range, or frees it if the cache has no room. `cache`: the caller's, or of a heap without a thread. */
void range_cache_push(struct range_cache *cache, granule_id range, uint32_t weight);

/* Classes that a pop looks at, a bit for each, the lowest for that of the request. */
#define CACHED_EXACT 1u
#define CACHED_LARGER (~(uint64_t)0)

/* Those whose ranges serve a request as they are (policy.h): each is less than twice as heavy as the lightest one, on
 * which core/sized.c relies. Of a weight below 4 the next class would not be. */
static ALWAYS_INLINE uint64_t cached_fitting(uint32_t granules) {
    uint64_t classes = granules > RANGE_CACHE_SMALL ? 3 : 7;
    return granules < 4 ? CACHED_EXACT : classes;
}

/* Pops a held range for `granules` granules from the first of the classes that has one. 0: none. The cache is the
 * calling thread's. The range counts as mapped. */
granule_id range_cache_pop(struct range_cache *cache, uint32_t granules, uint64_t classes);

/* Gives back the ranges that have waited since the last round; `now`: frees all ranges. Any thread may call it. True:
 * ranges remain for the next round. */
wide_bool range_cache_drain(struct range_cache *cache, bool now);

/* Frees ranges of at least `least` granules, a light one first, until the cache has `kept` granules at most. Those that
 * rounds have taken since the last look may count as if they were there. By the cache's thread. */
void range_cache_shrink(struct range_cache *cache, uint32_t least, int32_t kept);

/* Granules of the cache's ranges. */
size_t range_cache_granules(struct range_cache *cache);

/* Forgets the other threads, which the child of a fork does not have. */
void range_cache_after_fork(void);

#endif
