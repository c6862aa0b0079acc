/* heap_fork.h - heaps in the child of a fork.
 *
 * The child knows the keys and the lists of its parent, and so of its siblings. Therefore a fork begins a generation in
 * the child: its threads take only heaps whose keys are of this generation. What becomes of the heaps that exist:
 *
 *   heap that is                        event                        is then
 *   attached to the thread that forks   the fork                     inherited
 *   attached to another thread          the fork                     lost: in no stack
 *   abandoned                           the first pop                inherited, or drained if a round pops it
 *   inherited                           a purge, or one too many     drained
 *   inherited, and freed into           a round                      drained
 *   drained, with slabs                 at once                      inherited again
 *   drained, no link with its key left  at once                      abandoned, with a key of this generation
 *
 * No thread allocates from an inherited heap. Objects of inherited and lost heaps are freed like other threads'
 * objects, into cross lists. Rounds leave an inherited heap alone until the child frees into its full slabs: so a quiet
 * child shares their pages with its parent.
 *
 *   inherited_heaps   stack (sync/versioned_stack.h), linked like abandoned heaps: a heap is in one stack at most
 *
 * With the option fresh_after_fork:false the child goes on with its parent's heaps, in the parent's generation.
 */
#ifndef JW_HEAP_FORK_H
#define JW_HEAP_FORK_H

#include "frontend/heap.h"

/* Around a fork, by the thread that forks. */
void heap_before_fork(void);
void heap_after_fork(bool child);

/* Gives a heap without slabs a key of this generation. */
void heap_renew(struct heap *heap);

/* Whether the heap's key is of an older generation. */
bool heap_is_older(const struct heap *heap);

/* Pushes a heap of an older generation to the stack of inherited heaps. */
void heap_push_inherited(struct heap *heap);

/* Whether there are more than INHERITED_HEAPS inherited heaps. If each child forks the next one, their number grows. */
bool heap_has_many_inherited(void);

/* Calls `visit` with each inherited heap; then `push`, which leads each to a stack. */
void heap_visit_inherited(void (*visit)(struct heap *heap), void (*push)(struct heap *heap));

/* Called when a thread gets a heap. The first heap in a fork's child gets slabs in another order than a sibling's. */
void heap_begin_generation(struct heap *heap);

#endif
