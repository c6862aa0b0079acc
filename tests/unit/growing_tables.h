/* growing_tables.h - for tests of tables that grow (page_map.c), over the Linux layer. The tests choose where the far
 * parts of the tables begin. Each script runs in a child, which begins anew. */
#ifndef JW_TESTS_GROWING_TABLES_H
#define JW_TESTS_GROWING_TABLES_H

#include "unit.h"

#include "backend/page_map.h"

static uint64_t power; /* the far parts begin at LOW << power; the tables at the region's start */

uint64_t __wrap_platform_random(void);
enum platform_reserved __real_platform_reserve_at(void *address, size_t size, bool writes, const char *name);
enum platform_reserved __wrap_platform_reserve_at(void *address, size_t size, bool writes, const char *name);

uint64_t __wrap_platform_random(void) {
    return power;
}

/* Not where the kernel gives no region, as beside a sanitizer's memory; nor where tables do not grow. */
static void run(void (*script)(void)) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        page_map.base = NULL;
        CHECK(page_map_start());
        if (!page_map.base) _exit(SKIPPED);
        script();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SKIPPED);
}

#endif
