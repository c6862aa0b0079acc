/* remote_work.h - whether rounds have work with slabs that other threads have freed into (remote_reclaim.h). */
#ifndef JW_REMOTE_WORK_H
#define JW_REMOTE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Counts a slab, left alone by its owner or a round, to which an object has come back. At times asks for a round. */
void remote_work_note(void);

/* Grows with each of these; a count may be lost. */
uint32_t remote_work_count(void);

/* Begins a new period, with a round. True: such slabs were counted in the last one. */
bool remote_work_begin_period(void);

#endif
