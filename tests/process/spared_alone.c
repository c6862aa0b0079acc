/* spared_alone.c - with spare_callers:true and no thread for rounds, what is freed above 4 MB waits, but not without
 * bound.
 *
 *   spared_alone    a program of one thread
 *   spared_paused   one with a reclamation thread, which the program has paused
 */
#include "check.h"
#include "entry_points.h"
#include "jwmalloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB ((size_t)1 << 20)

/* MB: waiting for the callers, cached, in quarantine (hardened build), and two objects with their old places. */
enum { TIMES = 50, AT_ONCE = 20, LARGEST = 40, MOST = 64 + 8 + 128 + 4 * LARGEST };

static size_t addresses(void) {
    return proc_bytes("/proc/self/status", "VmSize");
}

static size_t calls(void) {
    size_t value = 0, size = sizeof value;
    CHECK(jw_ctl("stats.callers_calls", &value, &size, NULL, 0) == 0);
    return value;
}

static char *made(size_t size) {
    char *object = malloc(size);
    CHECK(object != NULL);
    object[0] = object[size - 1] = 1;
    return object;
}

static char *grown(char *object, size_t from, size_t to) {
    object = realloc(object, to);
    CHECK(object != NULL && object[from - 1] == 1);
    object[to - 1] = 1;
    return object;
}

static void use_two(size_t size, bool grow) {
    char *one = made(size), *other = made(size / 3 + 4 * MB);
    if (grow) one = grown(one, size, LARGEST * MB);
    free(one);
    free(other);
}

static void use_many(void) {
    char *objects[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) objects[i] = made(LARGEST * MB);
    for (int i = 0; i < AT_ONCE; i++) free(objects[i]);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "paused") == 0) jw_reclaim_pause();
    use_two(5 * MB, false);
    size_t before = addresses(), first_calls = calls(), most = 0;
    use_two(6 * MB, true);
    CHECK(calls() == first_calls); /* little waits: no thread of the program makes a call */
    use_many();
    CHECK(addresses() <= before + MOST * MB); /* the frees see to it: no other call may come */
    for (size_t i = 0; i < 2 * TIMES; i++) {
        use_two((5 + i * 37 % (LARGEST - 5)) * MB, i >= TIMES);
        size_t now = addresses();
        if (now > most) most = now;
    }
    printf("%zu MB of addresses more at most, %zu calls by callers\n", (most - before) / MB, calls() - first_calls);
    CHECK(most <= before + MOST * MB);
    CHECK(calls() > first_calls);
    bool spared = false;
    for (unsigned i = 0; i < 4; i++) { /* what waits has been unmapped: they are spared again */
        first_calls = calls();
        use_two(5 * MB, false);
        spared |= calls() == first_calls;
    }
    CHECK(spared);
    return 0;
}
