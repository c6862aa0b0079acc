/* mid_slab.c - how a mid slab is made, placed in the Nest or deferred, taken from it, and retired. */
#include "midend/mid_slab.h"

#include <string.h>

#include "backend/reclaimer.h"
#include "backend/root.h"
#include "backend/slab_source.h"
#include "base/published.h"
#include "platform/assert.h"
#include "platform/fill.h"
#include "sync/hint_counter.h"
#include "sync/id_stack.h"

struct nest mid_nest;
_Atomic(size_t) mid_slab_counts[CLASSES];
PUBLISHED(mid_slab_counts);
static struct hint_counter no_longer_full; /* slabs, since the start */
static struct hint_counter empties_left;   /* how often an empty slab was left in the Nest */
static struct id_stack deferred_slabs;     /* slabs whose Nest was busy, through their links */

/* The slab is out of the Nest and all its objects are free: no other thread can know it. */
void mid_slab_retire(granule_id slab, unsigned class) {
    invariant(mid_is_empty(mid_word_get(mid_state_at(slab)), mid_all_free(class)));
    for (uint32_t i = 1; i < mid_shapes[class].weight; i++) leaf_set(slab + i, leaf_none());
    mid_word_retire(mid_state_at(slab));
    atomic_fetch_sub_explicit(&mid_slab_counts[class], 1, memory_order_relaxed);
    slab_place(MID_REGIONS + class, slab, mid_shapes[class].weight);
}

/* Places the slab in the Nest or, if the Nest is busy, pushes it to the deferred list: false. */
static wide_bool place_or_defer(granule_id slab, unsigned class) {
    if (nest_place(&mid_nest, class, slab)) return true;
    id_stack_push(&deferred_slabs, slab, range_set_next);
    return false;
}

void mid_slab_forget_sealed(void) {
    memset(&mid_nest, 0, sizeof mid_nest);
    memset(mid_slab_counts, 0, sizeof mid_slab_counts);
    id_stack_take_all(&deferred_slabs);
}

uint32_t mid_slab_empties_left(void) {
    return hint_counter_read(&empties_left);
}

/* An empty slab stays in the Nest until the next round if no more slabs of the class than this number are there. The
 * number is 1 in two cases. While the program grows beyond its peak, other tiers may need the memory. And where no
 * thread comes for rounds, a program that falls quiet would keep the slabs. */
static unsigned most_kept(unsigned class) {
    bool one = thrift_is_at_peak() || JW_MID_KEPT_BYTES == 0 || !reclaimer_lives();
    return 1 + (one ? 0 : (JW_MID_KEPT_BYTES >> JW_GRANULE_SHIFT) / mid_shapes[class].weight);
}

/* Gives back the range of a listed slab that may have become empty. If another thread has the slab, that thread looks
 * again after it has placed the slab. The slab may also be gone, and its words may belong to another range. But
 * nest_take_this takes only a listed slab of this class. */
void mid_slab_retire_if_empty(granule_id slab, unsigned class) {
    /* [MF1] seq_cst: a thread empties a slab, another places it: one sees what the other did; pairs [MF1]; client
     * midend_states */
    atomic_thread_fence(memory_order_seq_cst);
    if (!mid_is_empty(mid_word_get(mid_state_at(slab)), mid_all_free(class))) return;
    if (!nest_has_more(&mid_nest, class, most_kept(class))) {
        hint_counter_add(&empties_left);
        return;
    }
    if (!nest_take_this(&mid_nest, class, slab, leaf_mid(class))) return;
    struct mid_word word = mid_word_get_taken(mid_state_at(slab));
    if (mid_is_empty(word, mid_all_free(class))) mid_slab_retire(slab, class);
    else if (place_or_defer(slab, class)) mid_slab_retire_if_empty(slab, class);
}

void mid_slab_place(granule_id slab, unsigned class) {
    if (place_or_defer(slab, class)) mid_slab_retire_if_empty(slab, class);
}

wide_bool mid_slab_place_deferred(void) {
    granule_id slab = id_stack_take_all(&deferred_slabs);
    if (!slab) return false;
    for (granule_id next; slab; slab = next) {
        next = range_next(slab);
        mid_slab_place(slab, mid_class_of_slab(slab));
    }
    return true;
}

static granule_id make_mid_slab(unsigned class) {
    bool zeroed;
    void *start = slab_fetch(MID_REGIONS + class, FOR_OTHER_RANGES, mid_shapes[class].weight, &zeroed);
    if (!start) return 0;
    granule_id slab = granule_of(start);
    root_admit_mid_slab(slab);
    if (TRAILERS && !zeroed) memset(start, 0, (size_t)mid_shapes[class].weight << JW_GRANULE_SHIFT);
    for (uint32_t i = 1; i < mid_shapes[class].weight; i++) leaf_set(slab + i, leaf_interior(class, i));
    leaf_set(slab, leaf_mid(class));
    fill_write(start, 0, (size_t)mid_shapes[class].count * mid_shapes[class].size);
    mid_word_make(mid_state_at(slab), mid_all_free(class));
    atomic_fetch_add_explicit(&mid_slab_counts[class], 1, memory_order_relaxed);
    return slab;
}

granule_id mid_slab_take_or_make(unsigned class) {
    granule_id slab = nest_take(&mid_nest, class);
    if (!slab && mid_slab_place_deferred()) slab = nest_take(&mid_nest, class);
    return slab ? slab : make_mid_slab(class);
}

/* Asks for a round, which gives back pages of free objects, also if no range has become free. A patient wait goes on
 * while the slabs with free objects are little, as far as a few loads tell: where the Nest's slots are full, all slabs
 * of the class count. */
static COLD void ask_for_round(void) {
    size_t granules = 0;
    for (unsigned mid_class = 0; mid_class < mid_class_count; mid_class++) {
        size_t slabs = nest_in_slots(&mid_nest, mid_class);
        if (slabs == JW_NEST_SLOTS) slabs = atomic_load_explicit(&mid_slab_counts[mid_class], memory_order_relaxed);
        granules += slabs * mid_shapes[mid_class].weight;
    }
    thrift_wake_for(granules);
}

/* Places a slab that is no longer full. After many of these a round is asked for. */
static void place_no_longer_full(granule_id slab, unsigned class) {
    mid_slab_place(slab, class);
    if (hint_counter_add(&no_longer_full) % MID_ROUND_FROM == 0) ask_for_round();
}

struct mid_word mid_slab_free(granule_id slab, unsigned class, uint32_t bits) {
    struct mid_word word = mid_word_get(mid_state_at(slab));
    if (UNLIKELY(!mid_word_free(mid_state_at(slab), bits, &word)))
        misuse(DOUBLE_FREE, mid_object(slab, class, (uint32_t)__builtin_ctz(bits & mid_free_bits(word))), 0);
    if (!mid_is_listed(word)) place_no_longer_full(slab, class);
    else if (mid_is_empty(mid_freed(word, bits), mid_all_free(class))) mid_slab_retire_if_empty(slab, class);
    return mid_freed(word, bits);
}
