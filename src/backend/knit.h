/* knit.h - Knit: the closed sibling tree, which splits ranges and joins them again (the paper's 3.2.2, 4.2.2).
 *
 * A root's ranges form a tree. An inner node has a unit of 2^m granules and two to eight slots. Each child covers a
 * run of slots. So any run of adjacent children has a weight in S(3) and can become one range. A split whose parts are
 * multiples of the parent's unit makes siblings in the parent. Any other split makes the range an inner node.
 *
 * There are no pointers. A range's link word holds its parent's unit and its own slot there, so the parent starts at
 * (range - slot * unit). The parent's word lies in the node table at (its start + its unit). No other live node's word
 * ever lies there ("metadata shifting"; the model test checks it). Siblings share only that word:
 *
 *   node   | 31 | own slot in parent | unit of own parent | eight slots of three bits |       (node_word.h)
 *
 *   slot code    meaning                                   next                by
 *   CONTINUES    not the start of a child                  IN_USE              split: the holder of the child it
 *                                                                              belongs to
 *   END          the node has fewer slots                  -
 *   IN_USE       held, given out, deferred, or a node      MAPPED, UNMAPPED    release: the holder, if no adjacent
 *                                                                              sibling is the same
 *                                                          LEFT                relinquish: the holder, whose Nest entry
 *                                                                              cannot be taken back
 *                                                          CONTINUES           join: the holder of this child and of
 *                                                                              its left sibling
 *   MAPPED       free, in the mapped Nest                  IN_USE              acquire: any thread
 *   UNMAPPED     free, in the unmapped Nest                IN_USE              acquire: any thread
 *   LEFT         in a Nest, or a thread has just taken it  IN_USE              acquire: any thread
 *                from there, or that thread has deferred it
 *
 * Invariant: adjacent siblings are never both MAPPED or both UNMAPPED: free neighbours of one kind are joined.
 * Progress: lock-free; a compare-exchange repeats only because another thread changed a sibling's state.
 */
#ifndef JW_KNIT_H
#define JW_KNIT_H

#include "backend/page_map.h"

enum side { ON_THE_LEFT = 1, ON_THE_RIGHT };

/* Makes a new root one range, which the caller holds. */
void knit_make_root(granule_id root);

/* Whether the held range is a whole root: it has no siblings. */
bool knit_is_root(granule_id range);

/* Granules of a range; the caller holds it, or knows that it is in use. */
uint32_t knit_weight(granule_id range);

/* Splits a held range in two: one step of the paper's Algorithm 1. The left part has at least `wanted` granules, which
 * must be less than the range's weight. Returns the right part, also held. */
granule_id knit_split(granule_id range, uint32_t wanted);

/* Splits a held range of 2 to NODE_SLOTS granules into single granules, all held: in one step what knit_split does one
 * by one. */
void knit_split_all(granule_id range, uint32_t weight);

/* Takes a free range. Returns its former state, or IN_USE when another thread has it. */
enum slot_code knit_acquire(granule_id range);

/* Takes an adjacent sibling that is free in this state, or LEFT. `sides`: the sides to look at, the right one first. 0:
 * there is none. *was: the sibling's former state. */
granule_id knit_acquire_sibling(granule_id range, unsigned sides, enum slot_code state, enum slot_code *was);

/* Granules of a held range and of the free siblings next to it on the right, in any state: a hint. The range is no
 * root. */
uint32_t knit_weight_with_right(granule_id range);

/* Frees a held range. False, and the range is still held, when an adjacent sibling has become free in this state. */
wide_bool knit_release(granule_id range, enum slot_code state);

/* Makes a held range LEFT: the thread that has taken Nest's half, or will take it, also gets Knit's half. */
void knit_relinquish(granule_id range);

/* Joins two adjacent held siblings. If they were the node's only children, the node becomes a range of its parent. */
granule_id knit_join(granule_id left, granule_id right);

#endif
