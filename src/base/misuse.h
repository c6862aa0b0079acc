/* misuse.h - what a program did wrong with our memory, told in one line before the process ends.
 *
 * The definition is in platform/misuse.c: only the platform can write and abort, and base knows nothing below itself.
 */
#ifndef JW_MISUSE_H
#define JW_MISUSE_H

/* Prints `jwmalloc: <kind>: address 0x... (<where>)` to standard error and aborts. Allocates nothing. */
_Noreturn void misuse(const char *kind, const void *address, const char *where);

#endif
