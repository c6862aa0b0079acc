/* foreign_threads.c - libc makes threads past pthread_create (thrd_create, timers). Their ends count for no other's. */
#include "tiers.h"

#include <dirent.h>
#include <pthread.h>
#include <threads.h>

static int come_and_go(void *unused) {
    (void)unused;
    void *volatile object = malloc(100);
    free(object);
    return 0;
}

static pthread_barrier_t together;

static void *sleep_on(void *unused) {
    come_and_go(NULL);
    pthread_barrier_wait(&together);
    for (;;) usleep(1000000);
    return unused;
}

static unsigned thread_count(void) {
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (directory == NULL) check_skip("no /proc");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

int main(void) {
    pthread_t sleeper;
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < 10; i++) {
        thrd_t thread;
        if (i == 5) {
            CHECK(pthread_create(&sleeper, NULL, sleep_on, NULL) == 0);
            pthread_barrier_wait(&together);
        }
        CHECK(thrd_create(&thread, come_and_go, NULL) == thrd_success && thrd_join(thread, NULL) == thrd_success);
        CHECK(thread_count() == (i < 5 ? 1 : 3)); /* the sleeper, and the reclamation thread */
    }
    return 0;
}
