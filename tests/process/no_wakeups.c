/* no_wakeups.c - an idle process stays asleep: no thread of it runs, the reclamation thread neither.
 *
 *   no_wakeups [SECONDS]     how long it must be silent; 5 by default
 *
 * The kernel counts how often each thread went to sleep. First the work left over is done, within a minute. Then the
 * waits between rounds double: with reclaim_interval:10 the last one ends within a second, so silence is for good. A
 * thread that frees a little now and then does not break it.
 */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

enum { OBJECTS = 4000, LONGEST = 60, SILENCE = 5, LITTLE = 20 };

/* Times that all threads but this one went to sleep; *threads: how many there are. */
static size_t sleeps(size_t *threads) {
    char path[300], line[256];
    size_t sum = 0, count;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    *threads = 0;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        ++*threads;
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "voluntary_ctxt_switches: %zu", &count) == 1) sum += count;
        fclose(file);
    }
    closedir(tasks);
    return sum;
}

static atomic_bool asleep;

/* Leaves much to give back, then sleeps. */
static void *work_and_sleep(void *unused) {
    static char *objects[OBJECTS];
    (void)unused;
    for (size_t i = 0; i < OBJECTS; i++) memset(objects[i] = malloc(16 + i * 16), 1, 16 + i * 16);
    for (size_t i = 0; i < OBJECTS; i++) free(objects[i]);
    atomic_store(&asleep, true);
    pause();
    return NULL;
}

int main(int count, char **arguments) {
    unsigned silence = count > 1 ? (unsigned)atoi(arguments[1]) : SILENCE;
    size_t threads = 0, before = 1, after = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work_and_sleep, NULL) == 0);
    while (!atomic_load(&asleep)) usleep(1000); /* the kernel's counts of sleeps need real time, here and below */
    for (unsigned tries = 0; tries < LONGEST / silence + 2; tries++) {
        before = sleeps(&threads);
        sleep(silence);
        after = sleeps(&threads);
        if (tries > 0 && before == after) break;
    }
    CHECK(before == after);
    malloc_trim(0);
    for (unsigned i = 0; i < LITTLE; i++) { /* as opendir does */
        char *volatile little = malloc(32 << 10);
        CHECK(little != NULL);
        little[0] = 1;
        free(little);
        usleep(20000);
    }
    after = sleeps(&threads);
    CHECK(before == after);
    CHECK(!under_jwmalloc() || threads == 2); /* the program's, and the reclamation thread */
    return 0;
}
