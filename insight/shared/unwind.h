/* unwind.h - the calling thread's return addresses, and memory for what an unwinder allocates. */
#ifndef JW_SHARED_UNWIND_H
#define JW_SHARED_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_FRAMES = 64 };

/* Finds an unwinder, outside of the program's names, so that its exceptions never meet another one. Before main.
 *
 * libunwind's unw_backtrace is the quickest: it keeps what it has found, behind a lock. libgcc's _Unwind_Backtrace
 * needs 2 us a stack, and no lock where the C library has _dl_find_object (glibc 2.35). Both read .eh_frame. */
bool unwind_begin(bool without_locks);
bool unwinder_locks(void);

/* Return addresses, the innermost first; how many. Places, if not NULL: the stack pointer after each return; 0: not
 * known. */
int unwind_now(void **frames, uintptr_t *places, int most);
uint64_t stack_hash(void **frames, int count); /* never 0 */

/* Threads are inside of the unwinder only while no thread forks: a child could not open its locks. Both forms of enter
 * may fail, and do not wait. Alone: no other thread is inside. */
bool unwind_enter(void);
bool unwind_enter_alone(void);
void unwind_leave(void);
void unwind_before_fork(void); /* waits for the threads inside */
void unwind_after_fork(void);
void unwind_in_child(void);
void wait_a_moment(void);

/* Memory for what is allocated inside of the unwinder: the loader gives each thread its part of libunwind's
 * thread-local data by malloc. Zeroed. NULL: too large, or there is no more. Size is 16 bytes before the object. */
void *own_allocate(size_t size);
bool own_has(const void *object);
void own_free(void *object);
#endif
