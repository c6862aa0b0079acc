/* heap.h - a heap: the slabs of one thread, and the direct map that leads from a size to the objects to give out.
 *
 * Heaps are never unmapped and slabs never change heaps. So a thread that frees an object can always reach the heap of
 * the object's slab. heap_table.h finds heaps by number; heap_lifecycle.h says which thread has which heap;
 * thread_heap.h has the calling thread's.
 *
 *   fields                        written by
 *   local to partial              the heap's thread; the map also the disabler (disable.h)
 *   - a new line of the cache -
 *   reopened, suspects            any thread pushes (heap_reopened.h, suspect.h); the heap's thread takes all
 *   suspect_count                 any thread
 *   abandoned_next, abandoned     the thread that pushes the heap to a stack of heaps, or pops it
 *   pool                          the heap's thread; any thread takes all slabs, a round notes how it is used (pool.h)
 *   quarantine to shortage,       the heap's thread
 *   thread_is_counted
 *   mid_caches, of the midend     the heap's thread
 *   range_cache, of the backend   the heap's thread; rounds write its slots and `drained` (range_cache.h)
 *
 * The thread or round that has a heap without a thread does what the heap's thread does. Statistics and messages about
 * misuse read heaps of other threads.
 */
#ifndef JW_HEAP_H
#define JW_HEAP_H

#include <stddef.h>

#include "backend/page_map.h"
#include "backend/range_cache.h"
#include "base/mitigations.h"
#include "frontend/pool.h"
#include "midend/mid_cache.h"
#include "sync/id_stack.h"
#include "sync/pointer_stack.h"

/* The class without objects. It stands for size 0 and for sizes above FRONTEND_MAX. */
#define NO_CLASS SIZE_CLASS_COUNT
#define NO_LIST ((size_t)NO_CLASS * FREE_TARGET_WORDS) /* its list's index */
/* The other list without objects: malloc of its sizes waits (disable.h). */
#define DISABLED (NO_CLASS + 1)

/* The heap's last malloc that failed (heap_shortage.h). */
struct shortage {
    uint64_t signs;
    uint32_t ticks, skipped;
};

struct heap { // NOLINT(clang-analyzer-optin.performance.Padding): what others write begins a line of the cache
    /* Of each class: the first object of the local list, or an end (a link), and the number of frees that may still go
     * to the list (object_cache.h). At offset 0, because malloc adds an index to the heap's address. */
    union {
        _Alignas(64) struct free_target local[DISABLED + 1];
        /* The same words as malloc reads them: each FREE_TARGET_WORDS-th word is the first object of a list. */
        void *first[(DISABLED + 1) * FREE_TARGET_WORDS];
    };
    /* Of each size: its class, as an index into `first`; or DISABLED (disable.h). Each heap has a copy, so malloc loads
     * no second address. */
    uint8_t size_map[FRONTEND_MAX + 1];
    uint8_t coarse_slabs[SIZE_CLASS_COUNT], budget[SIZE_CLASS_COUNT]; /* size_map.h */
    struct slab *current[SIZE_CLASS_COUNT], *partial[SIZE_CLASS_COUNT];
    /* With 64-bit pointers this cache line ends after `generation`. */
    _Alignas(64) struct id_stack reopened; /* slabs, for the owner to take back (heap_reopened.h) */
    struct pointer_stack suspects;         /* frees that are to be settled by this heap's lists (suspect.h) */
    _Atomic(uint32_t) suspect_count;       /* notes that are pushed and not settled yet; or more */
    _Atomic(uint32_t) abandoned_next;      /* number of the next heap in the same stack (heap_table.h) */
    _Atomic(bool) abandoned;               /* a hint for threads that push: they must ask for a round */
    _Atomic(bool) has_map;                 /* size_map is written, so others may write DISABLED to it (disable.h) */
    bool calls_back;                       /* its thread is in the callback at a limit (core/limit.h) */
    bool thread_is_counted;                /* the end of its thread is to be told (backend/reclaimer.h) */
    struct pool pool;
#if QUARANTINED
    struct quarantine *quarantine; /* its thread's freed objects (hardened/quarantine.h), NULL: none yet */
#endif
    uint32_t in_use_count;
    uint32_t number;
    uint32_t generation;        /* of the process when the heap got its key (heap_fork.h) */
    uint64_t cache_states;      /* two bits for each class (object_cache.h) */
    uint64_t key;               /* of its slabs' links (heap_key.h) */
    _Atomic(uint32_t) thread;   /* the kernel's number of its thread, 0: none. For messages about misuse only */
    uint32_t maintenance_ticks; /* calls of malloc and free that took a slow path; each so many maintain the heap */
    uint32_t collected_class;   /* the class that periodic maintenance looked at last */
    /* The first reopened slab that was taken off the stack and is not processed yet, 0: none. */
    granule_id reopened_taken;
    bool wants_slabs; /* a slab that becomes full is WANTED (heap_shortage.h) */
    struct shortage shortage;
    /* What the thread keeps of the lower tiers. It is here because one thread-local pointer leads to all. And a
     * thread's end, a drain and a look at shortage take all together. Only those tiers use their fields. */
    struct mid_cache mid_caches[MID_CACHES];
    struct range_cache range_cache;
};

_Static_assert(offsetof(struct heap, local) == 0, "malloc adds a list's index to the heap's address");
_Static_assert(DISABLED *FREE_TARGET_WORDS <= UINT8_MAX, "a list's index fits in an entry of the map");
_Static_assert(JW_LOCAL_FREES <= UINT8_MAX && JW_OBJECT_CACHE_ENTRIES <= UINT8_MAX, "a budget fits in its entry");
_Static_assert(SIZE_CLASS_COUNT <= 32, "each class has a bit in each half of cache_states");
_Static_assert(2 * JW_COARSE_SLABS <= UINT8_MAX, "slabs until the finer classes open fit in an entry (size_map.c)");

/* The index of a class's list in `first`, which is an entry of the map; and the class of such an index. */
static ALWAYS_INLINE size_t list_of_class(unsigned class) {
    return (size_t) class * FREE_TARGET_WORDS;
}

static ALWAYS_INLINE unsigned class_of_list(size_t list_index) {
    return (unsigned)list_index / FREE_TARGET_WORDS;
}

/* Whether other threads have reopened slabs that the owner has not taken back yet. */
static ALWAYS_INLINE bool heap_has_reopened(const struct heap *heap) {
    return heap->reopened_taken || !id_stack_is_empty(&heap->reopened);
}

#endif
