/* spared_limit.c - with spare_callers:true a request that a limit refuses gets what is free, by calls of its own
 * thread. What is refused all the same takes no addresses.
 *
 *   spared_limit       the option limit_hard, no reclamation thread
 *   spared_limit_os    RLIMIT_AS
 */
#include "check.h"
#include "entry_points.h"
#include "jwmalloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MB ((size_t)1 << 20)

/* MB: the limit, what each use has alive, what is refused beside that; and how often. In the hardened build 128 MB wait
 * in quarantine. */
enum { MOST = 400, USED = 240, REFUSED = 200, TIMES = 1000 };

static char *objects[USED * 1024];

static size_t addresses(void) {
    return proc_bytes("/proc/self/status", "VmSize");
}

static void use(size_t size) {
    size_t count = USED * MB / size;
    if (count > sizeof objects / sizeof *objects) count = sizeof objects / sizeof *objects;
    for (size_t i = 0; i < count; i++) {
        objects[i] = malloc(size);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, size);
    }
    for (size_t i = 0; i < count; i++) free(objects[i]);
}

static void refused_requests(void) {
    char *kept = malloc(USED * MB);
    CHECK(kept != NULL && malloc(REFUSED * MB) == NULL);
    size_t before = addresses();
    for (int i = 0; i < TIMES; i++) CHECK(malloc(REFUSED * MB) == NULL);
    CHECK(addresses() <= before + MB);
    free(kept);
}

static void set_limit(bool by_os) {
    size_t most = MOST * MB;
    struct rlimit limit = {most, most};
    if (by_os) CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    else CHECK(jw_ctl("opt.limit_hard", NULL, NULL, &most, sizeof most) == 0);
}

int main(int count, char **arguments) {
    set_limit(count > 1 && strcmp(arguments[1], "os") == 0);
    static const size_t sizes[] = {MB, 20 * MB, MB, 60 * MB, 100000, 1000, 60 * MB, 5000, 20 * MB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) use(sizes[i]);
    refused_requests();
    use(MB);
    return 0;
}
