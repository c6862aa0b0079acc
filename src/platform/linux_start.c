/* linux_start.c - the start of the process on Linux, and its forks: which file does what then. */
#include "platform/linux_start.h"

#include "platform/host.h"
#include "platform/platform.h"

#if !JW_HOSTED
#include <pthread.h>

static void host_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    pthread_atfork(prepare, parent, child);
}
#endif

void platform_start(void) {
    process_start();
    threads_start();
    random_places_start();
}

static void (*child_handler)(void);

static void child_of_fork(void) {
    threads_forget(); /* there is only this thread */
    process_forget();
    child_handler();
}

void platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    child_handler = child;
    host_on_fork(prepare, parent, child_of_fork);
}
