/* unit.h - what the white-box tests share: cmocka, and a fresh backend over the simulated platform. */
#ifndef JW_TESTS_UNIT_H
#define JW_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "backend/directory.h"
#include "backend/ownership.h"
#include "backend/root.h"
#include "backend/thrift.h"
#include "check.h"
#include "config/options.h"
#include "platform/platform.h"
#include "platform/sim.h"

/* Slots with a root, spare ones too. */
static inline size_t claimed_slots(void) {
    size_t count = 0;
    for (uint32_t slot = 0; page_map_next(&slot, false);) count++;
    return count;
}

/* The backend as at start. What an earlier test left is forgotten, but for the count of roots: each test frees what it
 * made. */
#if !JW_UNIT_ON_LINUX
static inline void start_backend(void) {
    sim_reset();
    memset(&ownership, 0, sizeof ownership);
    memset(&directory, 0, sizeof directory);
    reclaimer_forget();
    thrift_start();
    CHECK(root_count() == 0);
    CHECK(page_map_start());
}

#endif

static inline bool unit_crashed(int status) {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* Runs `body` in a child that must end well. The child ends as a program does: so its lines count as executed, too. */
static inline void run_in_child(void (*body)(void)) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        body();
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Runs `body` in a child that must abort with a line that holds `text`. */
static inline void expect_abort(void (*body)(void), const char *text) {
    int ends[2], status;
    char line[512] = "";
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; length < sizeof line - 1 && (got = read(ends[0], line + length, sizeof line - 1 - length)) > 0;)
        length += (size_t)got;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    if (!unit_crashed(status) || !strstr(line, text))
        dprintf(STDERR_FILENO, "expected \"%s\", got \"%s\"\n", text, line);
    CHECK(unit_crashed(status) && strstr(line, text));
}

#endif
