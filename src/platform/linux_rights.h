/* linux_rights.h - what the files of the Linux layer tell each other of the process and the reclamation thread. */
#ifndef JW_LINUX_RIGHTS_H
#define JW_LINUX_RIGHTS_H

#include <stdbool.h>

/* What platform_learn has found: more rights than an ordinary user's process, those of user 0, the right to real-time
 * priorities. */
struct rights {
    bool any, of_root, realtime;
};
struct rights rights_at_start(void);

/* From now on mappings get no names. */
void memory_names_end(void);

/* The words of the thread's stacks go where a fork's child finds them at zero. In the child of libc's fork they are set
 * so. */
void threads_start(void);
void threads_forget(void);

#endif
