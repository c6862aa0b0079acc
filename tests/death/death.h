/* death.h - cases of misuse, each in a process of its own that must end in one line and SIGABRT.
 *
 * A case says what the line must be, word for word, before it does the wrong thing.
 */
#ifndef JW_TESTS_DEATH_H
#define JW_TESTS_DEATH_H

#include "check.h"
#include "entry_points.h"

#define KB ((size_t)1024)
#define MB (1024 * KB)

struct death {
    const char *name;
    void (*misuse)(size_t size);
    size_t sizes[7]; /* one run with each, at least one; 0 ends them */
};

/* The tables of the files, ended by a case without a name. */
extern const struct death invalid_deaths[], double_deaths[], sized_deaths[], forged_deaths[], written_deaths[];

/* Owners that are no thread. */
enum { NOBODY = 0, ENDED = -1 };

/* Exit status of a case that by chance cannot show its misuse in this process: the next one has another key. */
enum { NEEDS_ANOTHER_KEY = 98 };

/* The line that must come; `size` 0: none. */
void expect(const char *kind, const void *address, const char *tier, size_t size, long owner, const char *remark);

/* The same for an object, described while it lives: its tier by its size; the calling thread's if small. */
void expect_object(const char *kind, const void *address, const void *object, const char *remark);

/* For an address where no object is. */
void expect_nothing(const char *kind, const void *address, const char *remark);

/* No line and no death: what comes next is right. */
void expect_nothing_wrong(void);

/* An object with something in each byte. */
char *object(size_t size);

/* The checked build tells links that lead to no object where they stand. */
extern bool checked;

/* By another thread, which has ended when these return. Where only the owner's lists tell that the object was free, the
 * line comes when the owner looks at them: in malloc_trim at the latest. */
void free_elsewhere(void *bytes);
char *object_from_elsewhere(size_t size);

long thread_number(void);

/* The build is the hardened one. */
extern bool secure;

#endif
