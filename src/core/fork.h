/* fork.h - what the allocator does around a fork of the process. */
#ifndef JW_FORK_H
#define JW_FORK_H

/* Registers it. This allocates memory, as the C library may, so it waits until the allocator has started. */
void fork_start(void);

#endif
