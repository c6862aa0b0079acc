/* heap_lifecycle.c - where heaps come from and where they go when their thread ends.
 *
 * abandoned[2]: two stacks of heaps without a thread (sync/versioned_stack.h). Ending threads push to the waiting
 * stack; starting ones pop from either. Once a round the reclamation thread takes heaps from the waiting stack, drains
 * what other threads have freed into them, gives their empty slabs back, and pushes them to the other stack, which then
 * becomes the waiting one. It holds no more than half of them at a time: threads that start meanwhile find the rest,
 * where they would else make new heaps at every such meeting, without end.
 *
 * inherited: a child of a fork knows the keys and lists of its parent, and so of its siblings. Each fork begins a
 * generation in the child: its threads take heaps whose keys are of this generation. The heap of the forking thread is
 * inherited at once; an abandoned one when it is next popped. Their objects can be freed like other threads' objects.
 * Only a purge drains inherited heaps: so a quiet child shares their pages. A heap that is empty then gets a new key.
 *
 * Keys are made from a secret of the generation. The parent draws the child's secret from a key in memory that no child
 * can read (MADV_WIPEONFORK), without a system call; no child learns another one's.
 */
#include "backend/backend.h"
#include "backend/hooks.h"
#include "backend/reclaimer.h"
#include "base/siphash.h"
#include "config/options.h"
#include "config/policy.h"
#include "frontend/heap.h"
#include "frontend/remote_reclaim.h"
#include "frontend/size_map.h"
#include "frontend/suspect.h"
#include "platform/fence.h"
#include "sync/versioned_stack.h"

enum { CHUNK_HEAPS = JW_HEAPS_PER_CHUNK, CHUNKS = 4096 };

#define NO_KEY 1u /* no slab's */

_Static_assert((uint64_t)CHUNKS *CHUNK_HEAPS <= 1u << KEY_NUMBER_BITS, "a heap's number fits in a key and in a leaf");

/* What secrets are for: a message's lowest byte. */
enum { FOR_KEY, FOR_SCATTER, FOR_CHILD, FOR_CHILD_TOO, FOR_SEEDS, FOR_SEEDS_TOO, FOR_MIDEND };

static uint64_t heap_secret[2]; /* of the generation's keys */
static uint32_t this_generation;
static _Atomic(uint32_t) scatter_next; /* the next heap of the process gets its slabs in random order */

/* In memory that forks forget; NULL: there is none. `forks` 0: forgotten. */
static struct fork_seeds {
    uint64_t key[2];
    _Atomic(uint64_t) forks;
} *fork_seeds;
static _Thread_local uint64_t child_secret[2] __attribute__((tls_model("initial-exec"))); /* while this thread forks */

static NOINLINE uint64_t heap_derived(const uint64_t secret[2], uint64_t number, unsigned what) {
    return siphash(secret, number << 8 | what, 7); /* numbers of heaps and forks have less than 48 bits */
}

/* Its lower half no other heap has, and never 0. The other bits are the heap's own, so that a link which is read
 * tells the keys of no other heap: the upper half where a slab has room for it. */
static uint64_t heap_key(uint32_t number) {
    uint64_t own = heap_derived(heap_secret, number, FOR_KEY);
    uint32_t bits = (uint32_t)own & ~(KEY_NEVER_ZERO | ((1u << KEY_NUMBER_BITS) - 1));
    uint64_t key = frontend_key ^ (number | bits | (~(uint32_t)frontend_key & KEY_NEVER_ZERO));
    if (sizeof(uintptr_t) < sizeof key) return key;
    return link_key_of((own & ~(uint64_t)UINT32_MAX) | (uint32_t)key);
}

struct heap no_heap = {
    .local = {[0 ... SIZE_CLASS_COUNT] = {.first = LINK_END}}, .map = {NO_CLASS * FREE_TARGET_WORDS}, .key = NO_KEY};
_Thread_local struct thread thread __attribute__((tls_model("initial-exec"))) = {.heap = &no_heap, .key = NO_KEY};
static _Thread_local bool thread_has_ended __attribute__((tls_model("initial-exec")));

static _Atomic(struct heap *) chunks[CHUNKS];
static _Atomic(uint32_t) created;
static struct versioned_stack abandoned[2], inherited_heaps;
static _Atomic(uint32_t) waiting; /* which of them; relaxed: either will do */
static _Atomic(uint32_t) abandoned_count, inherited_count;

uint32_t heap_count(void) {
    return atomic_load_explicit(&created, memory_order_relaxed);
}

uint32_t heap_abandoned_count(void) {
    return atomic_load_explicit(&abandoned_count, memory_order_relaxed);
}

struct heap *heap_by_number(uint32_t number) {
    /* [CH1] acquire: the chunk is mapped; pairs [CH2]; client heap_create */
    struct heap *chunk = atomic_load_explicit(&chunks[number / CHUNK_HEAPS], memory_order_acquire);
    return chunk ? &chunk[number % CHUNK_HEAPS] : NULL;
}

bool heap_thread_has_ended(void) {
    return thread_has_ended;
}

/* Memory for the heap of that number. */
static bool make_chunk(uint32_t number) {
    if (number / CHUNK_HEAPS >= CHUNKS) return false;
    if (heap_by_number(number)) return true;
    struct heap *expected = NULL;
    size_t page = platform_page_size(), size = (sizeof(struct heap) * CHUNK_HEAPS + page - 1) & ~(page - 1);
    struct heap *chunk = fenced_reserve(size, "jwmalloc: heaps");
    if (!chunk) return false;
    platform_huge_pages(chunk, size, false);
    /* [CH2] release: the chunk is mapped; pairs [CH1]; client heap_create */
    if (!atomic_compare_exchange_strong_explicit(&chunks[number / CHUNK_HEAPS], &expected, chunk, memory_order_release,
                                                 memory_order_relaxed))
        fenced_release(chunk, size);
    return true;
}

static void renew_heap(struct heap *heap) {
    heap->key = heap_key(heap->number);
    heap->generation = this_generation;
}

static struct heap *create(void) {
    uint32_t number = heap_count();
    do {
        if (!make_chunk(number + 1)) return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&created, &number, number + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    struct heap *heap = heap_by_number(++number);
    heap->number = number;
    renew_heap(heap);
    for (unsigned i = 0; i < MID_CACHES; i++) heap->mid_caches[i].heap = number;
    heap->local[NO_CLASS].first = LINK_END;
    size_map_start(heap);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        heap->local[class].first = LINK_END;
        heap->local[class].budget = heap->budget[class];
    }
    return heap;
}

static _Atomic(uint32_t) *abandoned_link_of(uint32_t number) {
    return &heap_by_number(number)->abandoned_next;
}

static void push(struct heap *heap, unsigned stack) {
    atomic_store_explicit(&heap->abandoned, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&abandoned_count, 1,
                              memory_order_relaxed); /* first: the count is never below the truth */
    versioned_stack_push(&abandoned[stack], heap->number, abandoned_link_of);
}

static struct heap *pop(unsigned stack) {
    uint32_t number = versioned_stack_pop(&abandoned[stack], abandoned_link_of);
    if (!number) return NULL;
    atomic_fetch_sub_explicit(&abandoned_count, 1, memory_order_relaxed);
    struct heap *heap = heap_by_number(number);
    atomic_store_explicit(&heap->abandoned, false, memory_order_relaxed);
    return heap;
}

static void push_inherited(struct heap *heap) {
    atomic_fetch_add_explicit(&inherited_count, 1, memory_order_relaxed);
    versioned_stack_push(&inherited_heaps, heap->number, abandoned_link_of);
}

/* Takes an abandoned heap of this generation. */
static struct heap *pop_own(unsigned stack) {
    struct heap *heap;
    while ((heap = pop(stack)) && UNLIKELY(heap->generation != this_generation)) push_inherited(heap);
    return heap;
}

static unsigned waiting_stack(void) {
    return atomic_load_explicit(&waiting, memory_order_relaxed) & 1;
}

struct heap *heap_take(void) {
    unsigned stack = waiting_stack();
    struct heap *heap = pop_own(stack);
    if (!heap) heap = pop_own(!stack);
    return heap ? heap : create();
}

void heap_retire(struct heap *heap) {
    push(heap, waiting_stack());
    thrift_wake();
}

/* As it is, the heap is worth most to the next thread, and a round comes for what that does not need. But none is asked
 * for where hardly anything would be left. True: there is work for a round. */
static bool leave_heap(struct heap *heap) {
    bool looked_after = thrift_has_thread();
    at_hand_drain(&heap->at_hand, true);
    heap_take_back(heap); /* if the next thread sleeps, no thread would do it */
    if (!looked_after || heap->in_use_count <= SIZE_CLASS_COUNT) heap_collect(heap, COLLECT_CURRENT);
    bool left = looked_after && (heap->in_use_count > 0 || heap->pool.count >= POOL_ROUND_FROM);
    if (!left) heap_give_back_pool(heap);
    return left || heap->in_use_count > 0;
}

static void thread_ends(void *value) {
    struct heap *heap = thread.heap == value ? value : thread.heap; /* another one since a fork, or none */
    thread_has_ended = true;
    if (heap == &no_heap) {
        reclaimer_thread_ends();
        return;
    }
    atomic_store_explicit(&heap->thread, 0, memory_order_relaxed);
    if (JW_SECURE) hardened_hooks.thread_ends(heap);
    heap_enter(&no_heap);
    reclaimer_thread_ends(); /* first: without the thread more is to be collected */
    bool more = leave_heap(heap);
    push(heap, waiting_stack());
    if (more) thrift_wake();
}

void heap_note_thread(void) {
    if (thread.heap != &no_heap)
        atomic_store_explicit(&thread.heap->thread, platform_thread_id(), memory_order_relaxed);
}

/* A heap of an older generation: without slabs it gets a key of this one, and any thread may take it. */
static void put_drained(struct heap *heap) {
    if (heap->in_use_count > 0) {
        push_inherited(heap);
        return;
    }
    renew_heap(heap);
    push(heap, waiting_stack());
}

/* Calls `visit` with each inherited heap, and then `put`. */
static void visit_inherited(void (*visit)(struct heap *heap), void (*put)(struct heap *heap)) {
    struct heap *visited = NULL;
    for (uint32_t number; (number = versioned_stack_pop(&inherited_heaps, abandoned_link_of)) != 0;) {
        struct heap *heap = heap_by_number(number);
        atomic_fetch_sub_explicit(&inherited_count, 1, memory_order_relaxed);
        visit(heap);
        atomic_store_explicit(&heap->abandoned_next, visited ? visited->number : 0, memory_order_relaxed);
        visited = heap;
    }
    for (struct heap *heap; (heap = visited) != NULL; put(heap)) {
        uint32_t next = atomic_load_explicit(&heap->abandoned_next, memory_order_relaxed);
        visited = next ? heap_by_number(next) : NULL;
    }
}

static void drain_heap(struct heap *heap) {
    heap_collect(heap, COLLECT_ALL);
    heap_give_back_pool(heap);
}

static void settle_inherited(struct heap *heap) {
    if (heap_has_suspects(heap)) heap_settle(heap);
}

COLD void heap_settle_inherited(void) {
    visit_inherited(settle_inherited, push_inherited);
}

struct heap *heap_attach(void) {
    struct heap *heap;
    /* a process that forks from child to child would have more and more of them */
    if (atomic_load_explicit(&inherited_count, memory_order_relaxed) > INHERITED_HEAPS)
        visit_inherited(drain_heap, put_drained);
    heap = heap_take();
    if (!heap) return NULL;
    heap_enter(heap);
    heap_note_thread();
    if (UNLIKELY(atomic_load_explicit(&scatter_next, memory_order_relaxed)) &&
        atomic_exchange_explicit(&scatter_next, false, memory_order_relaxed)) {
        for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) { /* as of a program's first heap (size_map.h) */
            if (heap->coarse_slabs[class] == 0) continue;
            heap->coarse_slabs[class] = 0;
            size_map_open(heap, class);
        }
        heap_scatter(heap, (unsigned)heap_derived(heap_secret, heap->number, FOR_SCATTER) % SCATTER_SLABS);
    }
    /* where the platform cannot tell us of the thread's end, its heap stays with it */
    platform_on_thread_exit(thread_ends, heap);
    return heap;
}

/* Takes up to `most` heaps from the stack and drains them before it pushes them to the other. 0: there was none. */
static unsigned drain_some(unsigned stack, uint32_t most, bool *more) {
    struct heap *drained = NULL, *heap;
    unsigned count = 0;
    for (; count < most && (heap = pop(stack)); count++) {
        drain_heap(heap);
        *more |= heap->in_use_count > 0;
        if (UNLIKELY(heap->generation != this_generation)) {
            put_drained(heap);
            continue;
        }
        atomic_store_explicit(&heap->abandoned_next, drained ? drained->number : 0, memory_order_relaxed);
        drained = heap;
    }
    while ((heap = drained)) {
        uint32_t next = atomic_load_explicit(&heap->abandoned_next, memory_order_relaxed);
        drained = next ? heap_by_number(next) : NULL;
        push(heap, !stack);
    }
    return count;
}

/* A round over the heaps that rest. True: slabs remain for a later round. */
static bool drain_abandoned(void) {
    unsigned stack = waiting_stack();
    bool more = false;
    for (unsigned passes = 0; passes < DRAIN_PASSES; passes++)
        if (drain_some(stack, (heap_abandoned_count() + 1) / 2, &more) == 0) break;
    atomic_store_explicit(&waiting, !stack, memory_order_relaxed);
    return more;
}

/* Reclamation's round over the frontend: what rests, then slabs that others have emptied, then all pools, and ranges at
 * hand. */
static bool frontend_round(void) {
    bool more = drain_abandoned(), soon = remote_reclaim_round(false);
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        more |= heap && heap_pool_round(heap);
        soon |= heap && at_hand_drain(&heap->at_hand, false);
    }
    if (soon) thrift_wake(); /* they are given back by the next round, at its usual time */
    return more | soon;
}

/* The same where all is to go now. */
static bool frontend_purge(void) {
    bool more = drain_abandoned();
    visit_inherited(drain_heap, put_drained);
    remote_reclaim_round(true);
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        if (!heap) continue;
        heap_give_back_pool(heap);
        at_hand_drain(&heap->at_hand, true);
    }
    return more;
}

/* The secret of this process, and the key of its children's. */
static void take_secret(void) {
    for (unsigned i = 0; i < 2; i++) {
        if (!child_secret[i])
            child_secret[i] = platform_random(); /* a handler forked between the two steps of a fork */
        heap_secret[i] = child_secret[i];
        if (fork_seeds) fork_seeds->key[i] = heap_derived(child_secret, 0, FOR_SEEDS + i);
    }
    if (fork_seeds) atomic_store_explicit(&fork_seeds->forks, 1, memory_order_relaxed); /* one thread */
    child_secret[0] = child_secret[1] = 0;
}

/* Several threads may fork at once: each fork has a number of its own. */
COLD void heap_before_fork(void) {
    uint64_t fork = fork_seeds ? atomic_load_explicit(&fork_seeds->forks, memory_order_relaxed) : 0;
    if (fork) fork = atomic_fetch_add_explicit(&fork_seeds->forks, 1, memory_order_relaxed);
    for (unsigned i = 0; i < 2; i++)
        child_secret[i] = fork ? heap_derived(fork_seeds->key, fork, FOR_CHILD + i) : platform_random();
}

/* The interrupted malloc or free of a thread that forks in a signal handler goes on with the heap it began with. */
COLD void heap_after_fork(bool child) {
    if (!child) {
        child_secret[0] = child_secret[1] = 0;
        return;
    }
    take_secret();
    if (!option(&options.fresh_after_fork)) {
        heap_note_thread();
        return;
    }
    this_generation++;
    atomic_store_explicit(&scatter_next, true, memory_order_relaxed);
    slab_scatter_secret = heap_derived(heap_secret, 0, FOR_SCATTER) | 1;
    midend_renew_key(heap_derived(heap_secret, 0, FOR_MIDEND));
    struct heap *heap = thread.heap;
    if (heap == &no_heap) return;
    atomic_store_explicit(&heap->thread, 0, memory_order_relaxed);
    heap_enter(&no_heap);
    push_inherited(heap);
}

void heap_lifecycle_start(void) {
    frontend_key = link_key_of(platform_random());
    fork_seeds = platform_forgotten_by_fork(sizeof *fork_seeds);
    take_secret();
    thrift_on_round(ROUND_OBJECTS, frontend_round, frontend_purge);
}
