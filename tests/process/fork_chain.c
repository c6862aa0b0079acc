/* fork_chain.c - a process forks, its child goes on and forks, and so on: no generation leaves memory behind.
 *
 * Each child frees all that it has inherited. In the hardened build a part of that waits in quarantine.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

enum { GENERATIONS = 100, OBJECTS = 2000, MB = 1 << 20 };

static void *objects[OBJECTS];

static void renew_objects(void) {
    for (size_t i = 0; i < OBJECTS; i++) {
        free(objects[i]);
        objects[i] = malloc(16 + i * 7 % 2000);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, 16);
    }
}

/* The first generations leave some half-empty slabs each. Each ends when it has a child; the last one tells through the
 * pipe how much more it has than an early one. */
static void live_in_turn(int told) {
    size_t early = 0;
    for (int generation = 0; generation < GENERATIONS; generation++) {
        renew_objects();
        if (generation == GENERATIONS / 2) early = resident_bytes();
        pid_t child = fork();
        if (child != 0) _exit(child > 0 ? 0 : 1);
    }
    size_t late = resident_bytes(), more = late > early ? late - early : 0;
    CHECK(write(told, &more, sizeof more) == sizeof more);
    _exit(0);
}

int main(void) {
    int ends[2];
    size_t more;
    if (!under_jwmalloc()) return 0;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) live_in_turn(ends[1]);
    close(ends[1]);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(read(ends[0], &more, sizeof more) == sizeof more); /* no end of the file before the last one has written */
    if (more > 3 * MB) fprintf(stderr, "%zu KB more\n", more >> 10);
    CHECK(more <= 3 * MB);
    return 0;
}
