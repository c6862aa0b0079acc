/* hold.h - one thread holds off the allocations of all others (malloc_disable).
 *
 *   holder            | 31..0 number of the heap whose thread allocates alone; 0: each thread may allocate |
 *   heap->size_map[]  of each size: the index of its list; HELD_OFF: a list that is always empty, of no class
 *   heap->has_map     false -> true: the map of a new heap is written
 *
 *   transition   by                            words
 *   hold         the thread that holds off     holder: 0 -> its heap's number; fence [HO1]; then each entry of each
 *                                              other heap that has a map [HO6]: HELD_OFF
 *   make         a new heap's thread           all entries; has_map [HO5]; then as write
 *   write        the heap's thread             some entries: the sizes' lists; fence [HO2]; then it waits while another
 *                                              thread is the holder
 *   let go       any thread; a fork's child    holder: 0 [HO4]; wakes those that wait
 *
 * malloc finds HELD_OFF as it finds each empty list: its hit path has no instruction for it. The slow path writes its
 * heap's entries, and waits while there is a holder [HO3]. A thread without a heap waits before it gets one. A HELD_OFF
 * that is written late, when there is no holder any more, does no harm for the same reason.
 *
 * Invariant: a thread that goes on after its write finds HELD_OFF from the return of `hold` on. Why: one of the two
 * fences is the first. If it is HO1, the thread sees the holder and waits. If it is HO2, HELD_OFF comes after the
 * thread's value. So it is with has_map: if the holder does not find it, the new heap's thread sees the holder.
 *
 * Progress: a thread that is held off waits for the holder; so does a second thread that wants to hold.
 * Clients hold_*.
 */
#ifndef JW_HOLD_H
#define JW_HOLD_H

/* Holds off the other threads' allocations. The calling thread must have a heap. Nothing happens if it is the holder
 * already. */
void hold_others(void);

/* Lets them go on. */
void hold_end(void);

/* Returns when the calling thread may allocate. hold_look: after it has written entries of its map. */
void hold_wait(void);
void hold_look(void);

#endif
