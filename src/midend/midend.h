/* midend.h - the midend: objects too large to share a granule and too small for ranges of their own (2 KB to 14 KB).
 *
 * A mid slab is a range of several granules cut into 4 to 28 equal objects, shared by all threads. It has no header:
 * its state is one word in the link table, at its second granule, where no range begins. It waits in a Nest through the
 * range's own records.
 *
 *   word   | held | listed | given back | seen | one bit an object: free |        (mid_word.h)
 *
 *   state     held  listed  free bits   leaves it by
 *   full      0     0       none        free: sets the bit and LISTED in one step; that thread places the slab
 *   partial   0     1       some        allocate: takes the slab from the Nest, clears a bit, and holds it or places it
 *                                       again; clearing the last bit clears LISTED too and the slab stays out
 *   empty     0     1       all         stays until the next round while its class has few in the Nest, else: take it
 *                                       from the Nest, give the range back
 *   held      1     1       any         the holder leaves it: full without a bit, else partial or empty and placed
 *
 * LISTED means: in the Nest, deferred, or in the hands of a thread that will place it. Only the thread that took a slab
 * out of the Nest clears bits. Progress: lock-free, as Nest. Invariant: LISTED exactly if a bit is set or the slab is
 * held.
 *
 *   object    bit  first word   leaves it by
 *   in use    0    any          free: cached, where the thread has room for it (mid_cache.h), else its bit is set
 *   cached    0    a link       its thread's next allocation; its thread drains its cache: its bit is set
 *   free      1    no link      allocate
 *
 * Whole pages of free objects go back to the OS if no thread touched the partial slab between two rounds:
 *
 *   given back  seen   left by
 *   0           0      a round: takes the slab from the Nest, sets SEEN, places it
 *   0           1      a round: takes it, discards the pages, sets GIVEN_BACK, places it; stays where the OS refuses
 *   1           1, 0   no round looks at it
 *   any         any    free and allocate clear both
 *
 * While a round has the slab, no thread allocates from it. So its free objects need not be allocated before their pages
 * go. An object freed meanwhile clears both bits, and the round's compare-exchange fails. Invariant: neither is
 * set where all objects are free, or the slab is held.
 *
 * A thread holds the slabs that it last allocated from. So an allocation from these, or a free to them, is at most one
 * read-modify-write of the word. Other threads free into a held slab as into a listed one. A round gives back the free
 * pages of slabs whose holders sleep (docs/protocols/mid-cache.md). The holder leaves the slab, and then looks whether
 * the slab is empty, in five cases:
 *
 *   it takes a slab of another class in its place
 *   the slab has no object left
 *   the heap is collected (once in 128 ticks), and nothing was allocated from the class since the last time
 *   the heap is drained (malloc_trim, or no memory)
 *   the thread ends
 */
#ifndef JW_MIDEND_H
#define JW_MIDEND_H

#include <stdbool.h>
#include <stddef.h>

#include "config/statistics_types.h"
#include "midend/mid_cache.h"
#include "midend/mid_shapes.h"

/* The class of a size from 1 to below BACKEND_MIN; the number of classes when the size is above all. */
static ALWAYS_INLINE unsigned mid_class_of(size_t size) {
    return mid_class_index[(size - 1) >> JW_MIDEND_UNIT_SHIFT];
}

/* Draws the key of links, computes the slabs' shapes, registers the round. Called once, by the first slow path. */
void midend_start(void);

/* Allocates an object of at least `size` bytes (below BACKEND_MIN) at a multiple of `alignment` (at most GRANULE_SIZE),
 * from another slab than the one that its cache holds. NULL when there is no memory, or no class has the alignment.
 * `caches`: the calling thread's, MID_CACHES of them; NULL: it may hold nothing. */
void *midend_allocate(struct mid_cache *caches, size_t size, size_t alignment);

/* Allocates an object that needs no special alignment. Called when midend_allocate_cached has found none. */
void *midend_allocate_uncached(struct mid_cache *caches, size_t size);

/* Frees an object of a mid slab, or says what is wrong with the address and aborts. `caches`: as above. False, with
 * nothing done, where the object's first word is a link: it may be cached. */
wide_bool midend_free(struct mid_cache *caches, void *object);

/* Drains the calling thread's caches: it leaves its slabs, and its cached objects go back to theirs. `idle`: only those
 * that the thread has not allocated from since the last call. */
void midend_drain_caches(struct mid_cache *caches, bool idle);

/* Closes drained caches: each opens with a key of its time when it next serves a class. */
static inline void midend_close(struct mid_cache *caches) {
    for (unsigned i = 0; i < MID_CACHES; i++) caches[i].class_plus_1 = 0;
}

static inline void midend_drain(struct mid_cache *caches) {
    midend_drain_caches(caches, false);
}

/* Called by periodic maintenance. */
static inline void midend_collect(struct mid_cache *caches) {
    midend_drain_caches(caches, true);
}

/* Usable bytes of an object of a mid slab. 0: the address is not one, or the object is cached in these caches, which
 * are the calling thread's. */
size_t midend_usable_size(const struct mid_cache *caches, const void *object);

/* Finds the slab of an object, and the object's bit. 0: no object begins at the address. */
NOINLINE granule_id mid_slab_of(const void *object, unsigned *class, uint32_t *bit);

/* Describes an address inside a mid slab (platform/misuse.h). */
void midend_describe(const void *object, struct found *found);

/* Returns the usable bytes of a mid object for this size and alignment. 0: no class has the alignment, or the allocator
 * has not started. */
size_t midend_good_size(size_t size, size_t alignment);

/* Gives back empty slabs, and free pages of slabs that were left alone since the last round; `now`: of all slabs. True:
 * there is more for a later round. */
wide_bool midend_round(wide_bool now);

/* Gives back the free pages of the slabs that a thread holds, if that thread has not allocated there since the last
 * round; `now`: in any case. Called by a round, in any thread. Returns how many slabs a later round has to look at. */
unsigned midend_round_of_caches(struct mid_cache *caches, bool now);

struct purge;

/* A step of a purge (core/purge.h): as midend_round(true), root by root. */
bool midend_purge(struct purge *purge);

/* Asks for the midend's share of rounds. Once, at the start. */
void midend_round_start(void);

void midend_before_fork(void);
void midend_after_fork(bool child);

/* Counts what the midend has. `caches`: the calling thread's. What other threads cache counts as in use;
 * heap_subtract_cached_objects takes that off. */
void midend_statistics(const struct mid_cache *caches, struct midend_statistics *statistics);

/* The hit path of malloc, for sizes from 1 to below BACKEND_MIN. NULL: the cache has no object of this class. */
static ALWAYS_INLINE void *midend_allocate_cached(struct mid_cache *caches, size_t size) {
    unsigned class = mid_class_of(size);
    return mid_cache_pop(&caches[mid_cache_of(class)], class);
}

#endif
