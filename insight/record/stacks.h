/* stacks.h - the call stack of an allocation, as a number: ./jw record --stacks. */
#ifndef JW_RECORD_STACKS_H
#define JW_RECORD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool stacks_wanted;

/* The calling thread's stack; 0: not known. Only for a thread that has a ring: what is new in the stack goes there. */
uint32_t stack_now(void);

#endif
