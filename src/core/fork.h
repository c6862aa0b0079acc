/* fork.h - what the allocator does around a fork of the process. */
#ifndef JW_FORK_H
#define JW_FORK_H

/* Registers the handlers. The C library may allocate for that, so the call comes after the allocator's start. */
void fork_start(void);

#endif
