/* heap_slabs.c - opens full slabs, and makes slabs empty. */
#include "frontend/heap_slabs.h"

#include "config/policy.h"
#include "frontend/heap_pool.h"
#include "frontend/partial_list.h"
#include "frontend/remote_work.h"
#include "frontend/size_map.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_links.h"
#include "frontend/slab_lists.h"
#include "platform/assert.h"
#include "platform/misuse.h"

void heap_make_empty(struct heap *heap, struct slab *slab) {
    invariant(cross_count(&slab->cross) == 0);
    invariant(slab_list_length(slab->freed.first) == slab->linked);
    if (UNLIKELY(slab_is_reopening(slab))) {
        slab_set_state(slab, REOPENING);
        free_target_set_budget(&slab->freed, 1);
        return;
    }
    slab_set_state(slab, EMPTY);
    free_target_set_budget(&slab->freed, 0);
    slab_set_origin(slab, slab->origin + ORIGIN_POISON);
    heap->in_use_count--;
    size_map_count_empty(heap, slab->class);
    heap_push_empty(heap, slab);
}

void heap_make_partial(struct heap *heap, struct slab *slab, uint32_t out) {
    slab->target = &slab->freed;
    free_target_set_budget(&slab->freed, out);
    struct cross_word word = cross_get(&slab->cross);
    if (cross_count_of(word) == out && slab_regain(slab, out)) {
        slab_drain_cross(slab);
        heap_make_empty(heap, slab);
        return;
    }
    slab_set_state(slab, PARTIAL);
    partial_push(&heap->partial[slab->class], slab);
    if (cross_is_watched(word)) remote_work_note();
}

/* Empties a PARTIAL slab, which leaves its list. */
static void empty_partial(struct heap *heap, struct slab *slab) {
    partial_remove(&heap->partial[slab->class], slab);
    heap_make_empty(heap, slab);
}

void heap_collect_if_empty(struct heap *heap, struct slab *slab) {
    if (!slab_is_free(slab, slab->freed.budget)) return;
    if (UNLIKELY(!slab_regain(slab, slab->freed.budget))) {
        slab_set_state(slab, PARTIAL);
        return;
    }
    slab_drain_cross(slab);
    empty_partial(heap, slab);
}

/* Whether the next malloc of the class would find no object. False once in KEEP_PERIOD times, too: an ordinary refill
 * must come then, as it collects the heap and refill_from_full does not. */
static bool class_needs_refill(const struct heap *heap, unsigned class) {
    if (heap->partial[class] || !link_is_end(heap->local[class].first)) return false;
    return (heap->maintenance_ticks + 1) % KEEP_PERIOD != 0 && !heap_has_reopened(heap);
}

/* Leaves the class's current slab, if there is one. False: the slab has an object left. */
static bool leave_spent_current(struct heap *heap, unsigned class) {
    struct slab *current = heap->current[class];
    if (!current) return true;
    bool left = !link_is_end(current->freed.first) || current->linked < size_class_capacity(class);
    if (left || !heap_make_full(heap, class, current)) return false;
    heap_leave_current(heap, class);
    return true;
}

/* Takes a full slab back from rounds (slab_regain). False: a round has it; its state is as before. */
static bool regain_full_slab(struct slab *slab) {
    enum slab_state state = slab_state(slab);
    if (LIKELY(slab_regain(slab, slab_out_of_full(slab)))) return true;
    slab_set_state(slab, state);
    return false;
}

/* If the next malloc would find no object, refills the class from a full slab to which an object has come back. The
 * slab becomes current, and no list of slabs changes. False: the caller must open the slab. */
static bool refill_from_full(struct heap *heap, struct slab *slab) {
    unsigned class = slab->class;
    if (!class_needs_refill(heap, class)) return false;
    heap->maintenance_ticks++;
    if (!leave_spent_current(heap, class) || !regain_full_slab(slab)) return false;
    void *first = slab_refill(slab);
    heap_make_current(heap, class, slab);
    heap->local[class].first = first;
    return true;
}

void heap_open_slab(struct heap *heap, struct slab *slab) {
    if (slab_state(slab) == PARTIAL) {
        /* a round has found all objects free: the frees that spent the budget were double frees */
        if (UNLIKELY(slab_is_taken(slab))) misuse(DOUBLE_FREE, slab->freed.first, 0);
        empty_partial(heap, slab);
        return;
    }
    invariant(slab_is_full(slab));
    heap_make_partial(heap, slab, slab_out_of_full(slab));
}

COLD void heap_want_slab(struct slab *slab) {
    invariant(slab_state(slab) == FULL && link_is_end(slab->freed.first));
    /* FULL is left first: a round that has read FULL must not take the slab by the new budget */
    if (slab_begin_regain(slab)) {
        cross_watch_again(&slab->cross);
        slab_set_state(slab, FULL);
        return;
    }
    free_target_set_budget(&slab->freed, 1);
    slab_set_state(slab, WANTED);
}

void heap_budget_spent(struct heap *heap, struct slab *slab) {
    if (!slab_is_full(slab) || !refill_from_full(heap, slab)) heap_open_slab(heap, slab);
}
