/* limits.h - what the tests of limits have in common: the limits by name, objects that are touched, a callback with a
 * reserve, and cases by name, one of them a process. */
#ifndef JW_TESTS_PROCESS_LIMITS_H
#define JW_TESTS_PROCESS_LIMITS_H

#include "check.h"
#include "entry_points.h"
#include "jwmalloc.h"

#include <errno.h>
#include <stdlib.h>

enum { MB = 1 << 20, ROOM = 24, MOST = ROOM * MB / 16, THREADS = 4 };

static char *objects[MOST]; /* touched at the start: its pages are not the allocator's */
static const size_t sizes[] = {16, 100, 700, 2048, 3000, 8000, 14000, 20000, 100000, (1 << 20), 3000000, 5000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static inline size_t word(const char *name) {
    size_t value = 0, size = sizeof value;
    CHECK(jw_ctl(name, &value, &size, NULL, 0) == 0);
    return value;
}

static inline size_t committed(void) {
    return word("stats.committed");
}

static inline void set(const char *name, size_t value) {
    CHECK(jw_ctl(name, NULL, NULL, &value, sizeof value) == 0);
}

static inline void *touched(void *object) {
    if (object != NULL) memset(object, 1, malloc_usable_size(object));
    return object;
}

static inline size_t fill(size_t size, size_t bytes) {
    size_t count = 0;
    for (size_t all = 0; all < bytes; all += malloc_usable_size(objects[count++])) {
        objects[count] = touched(malloc(size));
        CHECK(objects[count] != NULL);
    }
    return count;
}

static inline void empty(size_t count) {
    while (count > 0) free(objects[--count]);
}

/* volatile: malloc is declared so that compilers take it for a function that changes no variable of this file. */
static void *volatile reserve;
static volatile unsigned calls, nested;
static volatile size_t asked;

static inline int give_reserve(size_t size) {
    calls++;
    asked = size;
    void *own = malloc(ROOM * MB); /* fails, and calls nothing */
    CHECK(own == NULL);
    nested++;
    if (reserve == NULL) return 0;
    free(reserve);
    reserve = NULL;
    return 1;
}

static inline void check_refused(void *object) {
    CHECK(object == NULL && errno == ENOMEM);
    errno = 0;
}

struct limit_case {
    const char *name;
    void (*run)(void);
};

static inline int run_case(const struct limit_case *cases, size_t count, const char *name) {
    memset(objects, 0, sizeof objects);
    objects[0] = (char *)objects;
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}

#endif
