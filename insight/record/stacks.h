/* stacks.h - the call stack of an allocation, as a number: ./jw record --stacks. */
#ifndef JW_RECORD_STACKS_H
#define JW_RECORD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool stacks_wanted;

/* The calling thread's stack; 0: not known. Only for a thread that has a ring: what is new in the stack goes there. */
uint32_t stack_now(void);

/* Memory for what is allocated inside the recorder: the loader gives each thread its part of libunwind's thread-local
 * data by malloc. NULL: too large, or there is no more. Size is 16 bytes before the object. */
void *stacks_allocate(size_t size);
bool stacks_own(const void *object);
void stacks_free(void *object);

/* Around a fork: no thread is inside the unwinder meanwhile, whose locks the child could not open. */
void stacks_before_fork(void);
void stacks_after_fork(void);
void stacks_in_child(void);

#endif
