/* supervisor.h - a thread that decides, for each system call of the allocator, whether it fails and how.
 *
 * The allocator calls the kernel itself, so no wrapper could: a seccomp filter of the supervised thread, and of those
 * that it starts, asks a listener (user notification). Calls of libc's, told by their address, go through. */
#ifndef JW_TESTS_RELIABILITY_SUPERVISOR_H
#define JW_TESTS_RELIABILITY_SUPERVISOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where in the code which call is made. */
struct site {
    uint32_t call;
    uintptr_t address;
    uint32_t calls, refused;
};
enum { SITES_MAX = 64 };
extern struct site sites[SITES_MAX];
extern _Atomic(uint32_t) site_count;

/* Calls of the allocator so far, and those of them that were refused. */
extern _Atomic(uint32_t) calls_seen, calls_refused;

/* What fails from now on. The work waits for nothing while it changes this. */
extern struct plan {
    enum { ALL_SUCCEED, ONE_SITE_FAILS, ONE_CALL_FAILS, SOME_FAIL } kind;
    uint32_t which; /* the site; the call's number from now on; one of so many */
    int error;      /* 0: any */
} plan;

const char *call_name(uint32_t call);

/* Runs `work` in a thread of its own under supervision; skips the test where the kernel cannot. */
void supervise(void *(*work)(void *));

#endif
