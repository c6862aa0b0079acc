/* remote.h - reads the memory of a watched process, as if it were this program's own.
 *
 * This program is built from the allocator's sources, and does not use them to allocate: its own variables hold copies
 * of the process's (base/published.h). What these lead to is fetched, page by page, when it is first touched: the
 * fault's handler maps a page at the same address here, and copies the process's into it. So the library's own
 * functions walk the process's tables. They are made for tables that change meanwhile, and all their loops end.
 *
 * The program is linked statically at a low address, so that hardly anything of its own lies where the process has its
 * tables. remote_open checks that. */
#ifndef JW_WATCH_REMOTE_H
#define JW_WATCH_REMOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "watch/page.h"

/* Prints what is wrong in one line, and ends the program. */
_Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

/* Finds the process's page, and checks that it may be read by this program. */
void remote_open(pid_t pid);

/* Takes a new look: what was fetched is forgotten, and the variables are copied. False: the process has ended. */
bool remote_look(struct watch_page *page);

/* This program's copy of a published variable that only one file knows. */
void *remote_variable(const char *name);

/* Runs the function. False: the process has ended meanwhile, and the function is left in the middle. */
bool remote_try(void (*function)(void));

/* Pages that were not there any more when they were to be fetched; they read as zero. */
size_t remote_missing(void);

#endif
