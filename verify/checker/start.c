/* start.c - sets up, in the order in which things need each other, and explores. */
#include "engine.h"

#include <stdlib.h>

EXPORT int checker_main(int argc, char **argv, int (*client)(void), char *const bounds[3]);
EXPORT int checker_main(int argc, char **argv, int (*client)(void), char *const bounds[3]) {
    settings_read(argc, argv);
    settings.client = client;
    shared_start();
    memory_start(bounds);
    shadow_start();
    coverage_start();
    fiber_start();
    report_start();
    return explore();
}
