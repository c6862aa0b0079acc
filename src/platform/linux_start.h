/* linux_start.h - the steps of the process's start that linux_process.c calls in other files, and the rights that the
 * process had at its start. */
#ifndef JW_LINUX_START_H
#define JW_LINUX_START_H

#include <stdbool.h>

/* The process's rights, as platform_read_rights found them. any: more than an ordinary user's process has; of_root: it
 * is of user 0; realtime: it may use real-time priorities. */
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
