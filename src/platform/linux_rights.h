/* linux_rights.h - what the files of the Linux layer share about the process and the reclamation thread. */
#ifndef JW_LINUX_RIGHTS_H
#define JW_LINUX_RIGHTS_H

#include <stdbool.h>

/* What platform_learn has found: any more rights than an ordinary user's process has, user 0, the right to real-time
 * priorities. */
struct rights {
    bool any, of_root, realtime;
};
struct rights rights_at_start(void);

/* Draws what platform_random_place makes its numbers from. */
void random_places_start(void);

/* The start is over: mappings get no names, but on Android. */
void memory_names_end(void);

/* Puts the words of the thread's stacks into memory that reads as zero in a fork's child. In the child of libc's fork
 * they are set to zero. */
void threads_start(void);
void threads_forget(void);

#endif
