/* disable.h - one thread, the disabler, makes the allocations of all others wait (malloc_disable).
 *
 *   disabler          | 31..0 number of the heap whose thread allocates alone; 0: each thread may allocate |
 *   heap->size_map[]  of each size: the index of its list; DISABLED: a list that is always empty, of no class
 *   heap->has_map     false -> true: the map of a new heap is written
 *
 *   transition   by                            words
 *   disable      the thread that disables      disabler: 0 -> its heap's number; fence [DI1]; then each entry of each
 *                                              other heap that has a map [DI6]: DISABLED
 *   make         a new heap's thread           all entries; has_map [DI5]; then as write
 *   write        the heap's thread             some entries: the sizes' lists; fence [DI2]; then it waits while another
 *                                              thread is the disabler
 *   enable       any thread; a fork's child    disabler: 0 [DI4]; wakes those that wait
 *
 * malloc finds DISABLED as it finds each empty list: its hit path has no instruction for it. The slow path writes its
 * heap's entries, and waits while there is a disabler [DI3]. A thread without a heap waits before it gets one. A
 * DISABLED that is written late, when there is no disabler any more, does no harm for the same reason.
 *
 * Invariant: a thread that goes on after its write finds DISABLED from the end of `disable` on. Why: one of the two
 * fences is the first. If it is DI1, the thread sees the disabler and waits. If it is DI2, DISABLED comes after the
 * thread's value. So it is with has_map: if the disabler does not find it, the new heap's thread sees the disabler.
 *
 * Progress: a thread that is disabled waits for the disabler; so does a second thread that wants to disable.
 * Clients disable_*.
 */
#ifndef JW_DISABLE_H
#define JW_DISABLE_H

struct heap;

/* Makes the other threads' allocations wait. The calling thread must have a heap. Nothing happens if it is the disabler
 * already. */
void disable_others(void);

/* Lets the others go on. */
void disable_end(void);

/* Returns when the calling thread may allocate. disable_look: after it has written entries of its heap's map. With the
 * option `init` all entries become DISABLED again: the thread allocates on the slow path, which fills. */
void disable_wait(void);
void disable_look(struct heap *heap);

#endif
