/* linux_start.h - steps of the start that stand in other files than linux_process.c, and the rights that it found. */
#ifndef JW_LINUX_START_H
#define JW_LINUX_START_H

#include <stdbool.h>

/* What platform_read_rights has found: more rights than an ordinary user's process has, user 0, the right to
 * real-time priorities. */
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
