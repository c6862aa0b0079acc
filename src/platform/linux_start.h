/* linux_start.h - the steps of the process's start and of its forks, each in the file of its subject; and the rights
 * that the process had at its start. */
#ifndef JW_LINUX_START_H
#define JW_LINUX_START_H

#include <stdbool.h>

/* The process's rights, as platform_read_rights found them. any: more than an ordinary user's process has; of_root: it
 * is of user 0; realtime: it may use real-time priorities. */
struct rights {
    bool any, of_root, realtime;
};
struct rights rights_at_start(void);

/* Whether there must be no thread of ours. Valgrind makes calls of its own on each thread, which our filter refuses. It
 * takes a thread without libc's pthread_create for a mistake. Known after platform_read_rights. */
bool process_refuses_thread(void);

/* Whether the process reads its control group's files (platform_watch_group). */
bool process_watches_group(void);

/* process_start makes the memory that a fork's child finds empty. process_forget: the process has no number yet; called
 * in the child of libc's fork. */
void process_start(void);
void process_forget(void);

/* Draws what platform_random_place makes its numbers from. */
void random_places_start(void);

/* The start is over: from now on mappings get no names, except on Android. */
void memory_names_end(void);

/* threads_start puts the words of the reclamation thread's stacks into memory that reads as zero in a fork's child.
 * threads_forget sets these words to zero; called in the child of libc's fork. */
void threads_start(void);
void threads_forget(void);

#endif
