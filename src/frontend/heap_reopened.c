/* heap_reopened.c - pushes reopened slabs to their owner, and takes them back. */
#include "frontend/heap_reopened.h"

#include "backend/thrift.h"
#include "frontend/heap_slabs.h"
#include "frontend/heap_table.h"
#include "frontend/remote_work.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_lists.h"
#include "platform/assert.h"

/* Tells the owner of a slab that this thread's push has cleared the full mark. */
static void push_reopened(struct slab *slab) {
    struct heap *heap = heap_of(slab);
    id_stack_push(&heap->reopened, record_id(slab), range_set_next);
    remote_work_note();
    if (UNLIKELY(atomic_load_explicit(&heap->abandoned, memory_order_relaxed))) thrift_wake();
}

NOINLINE void free_to_cross_list(void *object) {
    struct slab *slab = slab_of(object);
    if (cross_push_slowly(&slab->cross, slab_origin(slab), object, slab_key(slab))) push_reopened(slab);
}

/* Takes one reopened slab back: from now on the owner may mark it again. */
static void take_reopened_slab(struct heap *heap, struct slab *slab) {
    invariant(slab->marked && slab_state(slab) != EMPTY);
    slab->marked = false;
    if (slab_state(slab) == PARTIAL) heap_collect_if_empty(heap, slab);
    else if (slab_state(slab) == REOPENING || (slab_is_full(slab) && !slab_mark(slab)))
        heap_make_partial(heap, slab, slab_out(slab));
}

NOINLINE void heap_take_reopened(struct heap *heap, unsigned most) {
    if (!heap->reopened_taken) heap->reopened_taken = id_stack_take_all(&heap->reopened);
    for (; heap->reopened_taken && most > 0; most--) {
        struct slab *slab = record_at(heap->reopened_taken);
        heap->reopened_taken = range_next(heap->reopened_taken);
        take_reopened_slab(heap, slab);
    }
}
