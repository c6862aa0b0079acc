/* promise.h - programs of cases, each of which ends as promises.py says: by a line and an abort, by a fault, or by the
 * exit code that means "the property is there". */
#ifndef JW_TESTS_PROMISE_H
#define JW_TESTS_PROMISE_H

#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "entry_points.h"

enum { SHOWN = 40 /* exit code: the property is there */ };

static inline void show(bool property) {
    _exit(property ? SHOWN : 0);
}

static inline char *object(size_t size) {
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memset(bytes, 0x5a, size);
    return bytes;
}

struct promise {
    const char *name;
    void (*run)(void);
};

#define CASE(name)                                                                                                     \
    { #name, name }

__attribute__((noreturn)) static inline void promise_run(int count, char **arguments, const struct promise *cases,
                                                         size_t most) {
    CHECK(count == 2);
#ifndef ANY_MALLOC /* ./jw bench security compares */
    if (!under_jwmalloc()) check_skip("the C library's malloc promises other things");
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    for (size_t i = 0; i < most; i++) {
        if (strcmp(arguments[1], cases[i].name) != 0) continue;
        cases[i].run();
        fflush(stdout);
        _exit(0); /* what is broken now must not end the process later */
    }
    check_failed(__FILE__, __LINE__, "a case of that name");
    abort();
}

#endif
