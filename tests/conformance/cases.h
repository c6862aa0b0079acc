/* cases.h - the conformance cases: what a program may expect of malloc because glibc's does it.
 *
 * Each case runs in a process of its own, which the case's end, a failed CHECK or a signal ends. All pass on glibc's
 * own malloc (the control). */
#ifndef JW_TESTS_CONFORMANCE_CASES_H
#define JW_TESTS_CONFORMANCE_CASES_H

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "process/tiers.h"

#define KB ((size_t)1024)
#define MB (1024 * KB)

typedef void case_function(size_t a, size_t b);

#ifdef __cplusplus
extern "C" {
#endif
/* Adds a case; `name` is a format of a and b. */
void add(const char *name, case_function *run, size_t a, size_t b);

void add_sizes(void);
void add_limits(void);
void add_errno(void);
void add_insight(void);
void add_threads(void);
void add_forks(void);
void add_limits_of_process(void);
void add_surroundings(void);
void add_programs(void);
void add_libc(void);
void add_operators(void);
#ifdef __cplusplus
}
#endif

/* The hardened build tells exactly what was asked for, and keeps what was freed in a quarantine of 192 KB. */
static inline bool is_hardened(void) {
    void *object = malloc(1);
    bool exact = malloc_usable_size(object) == 1;
    free(object);
    return exact;
}

/* Until nothing that is freed stays back from the next objects of that size. */
static inline void free_until_steady(size_t size) {
    enum { QUARANTINE = 192 << 10 };
    for (size_t freed = 0; is_hardened() && freed < 4 * QUARANTINE; freed += size) free(malloc(size));
}

/* A child's status: it must have ended by itself, with 0. */
static inline void expect_child(pid_t child) {
    int status = -1;
    CHECK(child > 0);
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
    CHECK(status == 0);
}

#endif
