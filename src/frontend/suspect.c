/* suspect.c - settles frees of objects whose first word reads as a link. */
#include "frontend/suspect.h"

#include "backend/thrift.h"
#include "config/policy.h"
#include "frontend/heap_reopened.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_free.h"
#include "frontend/slab_links.h"
#include "frontend/slab_lists.h"
#include "midend/midend.h"
#include "platform/misuse.h"

static wide_bool list_has(const void *first, const void *object, uint64_t key) {
    for (unsigned left = LIST_MOST; !link_is_end(first) && left > 0; first = slab_next(first, key), left--)
        if (first == object) return true;
    return false;
}

/* Whether the object was ever in a list since the slab was formatted: objects from `linked` on were not. */
static bool is_linked(const struct slab *slab, const void *object) {
    return (size_t)((const char *)object - slab_origin(slab)) <= (size_t)slab->linked * size_classes[slab->class].size;
}

static wide_bool slab_has_in_list(const struct heap *heap, const struct slab *slab, const void *object) {
    struct cross_word cross = cross_get_linked(&slab->cross);
    return !is_linked(slab, object) || list_has(slab->freed.first, object, heap->key) ||
           list_has(heap->local[slab->class].first, object, heap->key) ||
           list_has(cross_first(slab_origin(slab), cross), object, heap->key);
}

/* The owner's free has lowered the budget for a moment, and a round may have seen that. So the owner first makes sure
 * that no round takes the slab while its lists are walked. If a round has taken it, the word's count tells: the object
 * was free only if as many objects are out as the count says. */
COLD wide_bool heap_search_lists(const struct heap *heap, const void *object) {
    struct slab *slab = slab_of(object);
    enum slab_state state = slab_state(slab);
    if (!slab_is_full(slab) && state != PARTIAL) return slab_has_in_list(heap, slab, object);
    unsigned out = slab_out(slab);
    bool listed;
    if (slab_begin_regain(slab)) {
        listed = cross_count_of(cross_watch_again(&slab->cross)) == out;
    } else {
        listed = slab_has_in_list(heap, slab, object);
    }
    slab_set_state(slab, state);
    return listed;
}

static void settle_small(struct heap *heap, void *object) {
    const struct slab *slab = slab_of(object);
    /* an object in use keeps its slab, so the key and the start are right */
    if (!slab_has_key(slab, heap->key) || !slab_has_start(object, slab) || heap_search_lists(heap, object))
        misuse(DOUBLE_FREE, object, 0);
    link_clear(object);
    slab_fill(slab, object);
    free_to_cross_list(object);
}

static void settle_mid(struct heap *heap, void *object) {
    if (mid_is_cached(heap->mid_caches, object)) misuse(DOUBLE_FREE, object, 0);
    link_clear(object);
    midend_free(NULL, object);
}

COLD wide_bool heap_reserve_suspect(struct heap *heap) {
    if (atomic_fetch_add_explicit(&heap->suspect_count, 1, memory_order_relaxed) < SUSPECTS_MOST) return true;
    heap_unreserve_suspects(heap, 1);
    return false;
}

COLD void heap_unreserve_suspects(struct heap *heap, uint32_t count) {
    atomic_fetch_sub_explicit(&heap->suspect_count, count, memory_order_relaxed);
}

COLD void heap_settle_suspects(struct heap *heap) {
    uint32_t settled = 0;
    struct stack_link *link = pointer_stack_take_all(&heap->suspects);
    for (struct stack_link *next; link; link = next) {
        struct suspect *note = (struct suspect *)link;
        void *object = note->object;
        bool mid = note->mid;
        next = link->next;
        link_clear(note);
        slab_fill(slab_of(note), note);
        free_to_cross_list(note);
        if (mid) settle_mid(heap, object);
        else settle_small(heap, object);
        settled++;
    }
    heap_unreserve_suspects(heap, settled);
}

COLD void heap_push_suspect(struct heap *heap, struct suspect *note) {
    pointer_stack_push(&heap->suspects, &note->link, &note->link);
    if (atomic_load_explicit(&heap->abandoned, memory_order_relaxed)) thrift_wake();
}
