/* remote_work.h - whether rounds have work with slabs that other threads have freed into (remote_reclaim.h). */
#ifndef JW_REMOTE_WORK_H
#define JW_REMOTE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Counts a slab that gets an object back after its owner has left it, or a round has watched it; also a watched slab
 * that its owner opens: it may be freeing the rest. Each REMOTE_ROUND_FROM-th count asks for a round. */
void remote_work_note(void);

/* Returns how many slabs were counted so far; a count may be lost. */
uint32_t remote_work_count(void);

/* Begins a new period; called by a round. True: slabs were counted in the last period. */
bool remote_work_begin_period(void);

#endif
