/* suspect.h - frees of objects whose first word reads as a link: double frees, most likely.
 *
 * A program may write any word into its objects: it may copy memory that it never wrote, where an old link still is. So
 * the word only raises the question. The lists of the heap that the object's slab belongs to answer it. An object that
 * stands in one of them is free, and its free is a double free; any other object is freed.
 *
 * Only the heap's thread may walk its lists for an answer that must be right (statistics walk them as well). So another
 * thread that frees a suspect hands it to that heap. The heap's thread settles it when it next refills, collects or
 * ends. A round settles the suspects of heaps without a thread. The process's exit settles what can be settled then.
 *
 *   heap->suspects   stack of notes (struct suspect; sync/pointer_stack.h), which are small objects of the threads that
 *                    push them. Any thread pushes; the heap's thread, or the one that has a heap without thread, takes
 *                    all. Client suspect_settled
 *
 * A mid object has no owner. While a thread caches it, its second word has the number of the heap that caches it
 * (mid_cache.h). If that heap does not cache the object, the slab's word decides.
 *
 * Notes keep memory while the heap's thread sleeps: the objects and their slabs. So at most SUSPECTS_MOST wait in a
 * heap, and heap->suspect_count reserves a place before a note is made; relaxed, as it only limits. A suspect that
 * finds no place, or no memory for its note, is freed like any other object.
 *
 * A double free by another thread is missed if its suspect finds no place or no memory, or if the object is given out
 * again before the owner looks. Progress: lock-free.
 */
#ifndef JW_SUSPECT_H
#define JW_SUSPECT_H

#include "frontend/heap.h"

struct suspect {
    struct stack_link link;
    void *object;
    bool mid;
};

/* Searches the heap's lists for an object of one of its slabs. True: the object stands in one, so it is free. Meanwhile
 * no round takes the slab. By the heap's thread only. */
wide_bool heap_search_lists(const struct heap *heap, const void *object);

/* Reserves a place for one note; false if none is free. By any thread. */
wide_bool heap_reserve_suspect(struct heap *heap);

/* Gives back the places of `count` notes. By any thread. */
void heap_unreserve_suspects(struct heap *heap, uint32_t count);

/* Hands a note to the heap, whose thread settles its question. By any thread that has reserved a place. */
void heap_push_suspect(struct heap *heap, struct suspect *note);

/* Settles what other threads have handed to the heap. By the heap's thread, or by the one that has taken a
 * heap without a thread. */
void heap_settle_suspects(struct heap *heap);

static ALWAYS_INLINE bool heap_has_suspects(const struct heap *heap) {
    return !pointer_stack_is_empty(&heap->suspects);
}

#endif
