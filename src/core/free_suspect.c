/* free_suspect.c - decides whether a suspect may be freed, or leaves a note for the heap's thread. */
#include "core/free_suspect.h"

#include <errno.h>

#include "core/allocate.h"
#include "frontend/heap_table.h"
#include "frontend/slab_links.h"
#include "frontend/suspect.h"
#include "frontend/thread_heap.h"
#include "platform/misuse.h"

/* Leaves the question to the heap's thread; false if there is no memory for a note. */
static wide_bool hand_suspect_over(struct heap *heap, void *object, bool mid) {
    if (!heap_reserve_suspect(heap)) return false;
    int before = errno;
    struct suspect *note = allocate(sizeof *note);
    errno = before; /* free must not change errno */
    if (!note) {
        heap_unreserve_suspects(heap, 1);
        return false;
    }
    note->object = object;
    note->mid = mid;
    heap_push_suspect(heap, note);
    return true;
}

COLD wide_bool small_suspect_may_be_freed(void *object) {
    struct slab *slab = slab_of(object);
    if (!slab_has_start(object, slab)) misuse(INVALID_FREE, object, 0);
    /* in the hardened build, the object's trailer has answered before */
    if (!TRAILERS && slab_has_link(object)) {
        struct heap *heap = heap_of(slab);
        if (heap == thread_heap()) {
            if (heap_search_lists(heap, object)) misuse(DOUBLE_FREE, object, 0);
        } else if (hand_suspect_over(heap, object, false)) {
            return false;
        }
    }
    link_clear(object);
    return true;
}

COLD wide_bool mid_suspect_may_be_freed(void *object) {
    uint32_t number = cached_heap_number(object);
    struct heap *heap = number && number <= heap_count() ? heap_by_number(number) : NULL;
    if (heap && heap != thread_heap() && hand_suspect_over(heap, object, true)) return false;
    if (heap && heap == thread_heap() && mid_is_cached(heap->mid_caches, object)) misuse(DOUBLE_FREE, object, 0);
    link_clear(object);
    return true;
}
