/* heap.h - a heap: the slabs of one thread, and the direct map that leads from a size to the objects at hand.
 *
 *   life of a heap    created or taken from the abandoned heaps by a thread's first small allocation -> attached ->
 *                     the thread ends: retired -> abandoned (the reclamation thread drains it) -> taken by the next
 *                     thread
 *
 * Heaps are never unmapped and slabs never change heaps. So a thread that frees an object can always reach the heap of
 * the object's slab.
 *
 *   reopened    stack of slabs that were marked until another thread freed into them (slab.h), through their links
 *               (sync/id_stack.h). The thread that cleared the mark pushes; the owner takes all.
 *   abandoned   (heap_lifecycle.c) stack of heaps without a thread.
 *   inherited   (heap_lifecycle.c) in the child of a fork: stack of heaps whose keys the parent has, too. No thread
 *               takes them.
 *
 * Everything else in a heap belongs to its thread. A thread without a heap has `no_heap`, which has no objects and
 * whose key matches no slab. So the hit paths need no test for it.
 */
#ifndef JW_HEAP_H
#define JW_HEAP_H

#include <stddef.h>

#include "backend/at_hand.h"
#include "backend/page_map.h"
#include "config/statistics_types.h"
#include "frontend/pool.h"
#include "midend/midend.h"
#include "sync/id_stack.h"
#include "sync/pointer_stack.h"

/* The class that never has objects: that of size 0 and of all that is too large. */
#define NO_CLASS SIZE_CLASS_COUNT

struct heap { // NOLINT(clang-analyzer-optin.performance.Padding): what others write has a line of its own
    /* Of each class: the first object to give out, or an end (a link), and how many frees may go there
     * (object_cache.h). At offset 0 for malloc's sake. */
    union {
        _Alignas(64) struct free_target local[SIZE_CLASS_COUNT + 1];
        void *first[(SIZE_CLASS_COUNT + 1) *
                    FREE_TARGET_WORDS]; /* what malloc looks at: each FREE_TARGET_WORDS-th is a list */
    };
    /* Of each size: the class, in words of `local`. In each heap: no address of its own. */
    uint8_t map[FRONTEND_MAX + 1];
    uint8_t coarse_slabs[SIZE_CLASS_COUNT], budget[SIZE_CLASS_COUNT]; /* size_map.h */
    struct slab *current[SIZE_CLASS_COUNT], *partial[SIZE_CLASS_COUNT];
    _Alignas(64) struct id_stack reopened; /* written by other threads, as what stands beside it by rounds */
    struct pointer_stack suspects;         /* frees that are to be settled by this heap's lists (suspect.h) */
    _Atomic(uint32_t) suspect_count;       /* notes handed over and not settled yet, or more */
    _Atomic(uint32_t) abandoned_next;      /* number of the next abandoned heap */
    _Atomic(bool) abandoned;               /* a hint for threads that push: no thread will look at what they return */
    struct pool pool;
#if JW_SECURE
    struct quarantine *quarantine; /* its thread's freed objects (hardened/quarantine.h), NULL: none yet */
#endif
    uint32_t in_use_count;
    uint32_t number;
    uint32_t generation;      /* of the process when the heap got its key (heap_lifecycle.c) */
    uint32_t cache_spent;     /* a bit for each class (object_cache.h) */
    uint64_t key;             /* of its slabs' links; the lower half is its own (heap_key) */
    _Atomic(uint32_t) thread; /* the kernel's number of its thread, 0: none. For messages about misuse only */
    uint32_t refills;
    uint32_t collected; /* the class that was looked at last */
    granule_id
        reopened_taken; /* first of the reopened slabs that were taken off the stack and not looked at, 0: none */
    struct mid_cache mid_caches[MID_CACHES];
    struct at_hand at_hand;
};

_Static_assert(offsetof(struct heap, local) == 0, "malloc adds a list's place to the heap's address");
_Static_assert(NO_CLASS *FREE_TARGET_WORDS <= UINT8_MAX, "a list's place fits in an entry of the map");
_Static_assert(JW_LOCAL_FREES <= UINT8_MAX && JW_OBJECT_CACHE <= UINT8_MAX, "a budget fits in its entry");
_Static_assert(SIZE_CLASS_COUNT <= 32, "each class has a bit of cache_spent");

extern struct heap no_heap HIDDEN;

/* What the hit paths need, in one cache line. */
struct thread {
    struct heap *heap;
    uint64_t key; /* the heap's */
};

extern _Thread_local struct thread thread HIDDEN __attribute__((tls_model("initial-exec")));

/* Makes it the calling thread's. */
static inline void heap_enter(struct heap *heap) {
    thread.heap = heap;
    thread.key = heap->key;
    at_hand_enter(heap == &no_heap ? NULL : &heap->at_hand);
}

/* Writes the calling thread's number into its heap; after a fork it has a new one. */
void heap_note_thread(void);

/* Takes the first object, whose link is near, of a local list. */
static ALWAYS_INLINE void *heap_pop_near(void **first, void *object, uint64_t distance) {
    slab_check_fill(object);
    *first = link_followed(object, distance);
    link_clear(object);
    return object;
}

/* Takes the first object of a local list that is not empty. */
static inline void *heap_pop(void **first, uint64_t key) {
    void *object = *first;
    slab_check_fill(object);
    *first = slab_next(object, key);
    link_clear(object);
    return object;
}

/* Gives the calling thread a heap. NULL when there is no memory. */
struct heap *heap_attach(void);

/* Whether the calling thread has ended as far as its heap is concerned: later allocations, in other destructors of the
 * thread, take a heap for one operation and hand it over again. */
bool heap_thread_has_ended(void);

/* Any heap without a thread, else a new one; NULL when there is no memory. */
struct heap *heap_take(void);

/* Hands a heap over: it rests until the next thread takes it. */
void heap_retire(struct heap *heap);

/* An object of the class, from the current slab or from its successor. NULL when there is no memory. */
void *heap_refill(struct heap *heap, unsigned class);

/* The slab's budget reached 0 by its owner's free (the state table in slab.h). */
void heap_budget_spent(struct slab *slab);

/* The same of any heap's, where a full slab must not take over. */
void heap_open_slab(struct heap *heap, struct slab *slab);

/* Tells the owner of a slab that the caller's push has cleared its full mark. */
void heap_push_reopened(struct slab *slab);

/* Takes back reopened slabs and looks for slabs without objects: the current ones and some partial ones, or all. Lets
 * go of mid slabs. */
enum collect { COLLECT_CURRENT, COLLECT_ALL };
void heap_collect(struct heap *heap, enum collect depth);

/* Takes back all reopened slabs. */
void heap_take_back(struct heap *heap);

/* There is no memory for another slab: finds what is free in those there are. */
void heap_make_room(struct heap *heap);

/* Once a refill, or now and then where there is none: at times takes back reopened slabs, and collects. */
void heap_maintain(struct heap *heap);

/* The calling thread's empty slabs go to the backend. */
void heap_flush(void);
void heap_give_back_pool(struct heap *heap);

/* A round's look at the pool of a heap that may be another thread's. True: slabs remain for a later round. */
bool heap_pool_round(struct heap *heap);

/* Prepares the hand-over of dead threads' heaps. Called once, by the first slow path. */
void heap_lifecycle_start(void);

/* Around a fork. The child's threads take heaps with keys of their own. */
void heap_before_fork(void);
void heap_after_fork(bool child);

/* Settles the suspects of inherited heaps, at the process's exit. */
void heap_settle_inherited(void);

/* Puts a random number of slabs into the pool, so that the next slabs come in another order than in a sibling's. */
void heap_scatter(struct heap *heap, unsigned count);

/* The lower half of a key: | 31 keeps it from being 0 | 30..17 the heap's own bits | 16..0 number | ^ frontend_key */
#define KEY_NEVER_ZERO (1u << 31)
#define KEY_NUMBER_BITS 17

/* Highest heap number so far, a heap by its number (1 on), and a slab's. */
uint32_t heap_count(void);
struct heap *heap_by_number(uint32_t number);
static inline struct heap *heap_of(const struct slab *slab) {
    uintptr_t key = __atomic_load_n(&slab->key, __ATOMIC_RELAXED);
    uint32_t number = (uint32_t)(key ^ frontend_key) & ((1u << KEY_NUMBER_BITS) - 1);
    return heap_by_number(key ? number : 0); /* key 0: no slab; heap 0 is never used */
}

uint32_t heap_abandoned_count(void);

void frontend_statistics(struct frontend_statistics *statistics);

/* Other threads' cached objects of the midend are free, too: as many as their caches count. */
void heap_leave_out_cached(struct midend_statistics *statistics);

/* Ranges at hand are cached memory. */
void heap_leave_out_at_hand(struct backend_statistics *statistics);

#endif
