/* report.h - writes what was found. Nothing here allocates or uses stdio: a signal handler calls it. */
#ifndef JW_GUARD_REPORT_H
#define JW_GUARD_REPORT_H

#include "pool.h"

struct report {
    const char *kind;
    const char *access; /* "write"; NULL: none, the address was given to free */
    uintptr_t address;
    const char *here_is; /* "accessed by" */
    const struct stack *here;
    const struct slot *slot; /* NULL: no object is known */
    bool exact;              /* the first frame is an instruction's own address, and no return address */
};

void report_begin(const char *path); /* NULL: the standard error output */
void report_write(const struct report *report);
void report_in_child(void);
#endif
