/* guest_threads.h - the threads of this process as the kernel knows them, and a thread of the program that sleeps. */
#ifndef JW_TESTS_PROCESS_GUEST_THREADS_H
#define JW_TESTS_PROCESS_GUEST_THREADS_H

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { MOST_THREADS = 32, MOST_ENDED = 100 };

static pthread_barrier_t together;

/* Threads that have been joined, or soon will be: the kernel sees them off a little after that. */
static pid_t ended[MOST_ENDED];
static _Atomic(unsigned) ends;

static inline void note_end(void) {
    ended[ends++] = (pid_t)syscall(SYS_gettid);
}

static inline bool has_ended(pid_t number) {
    bool found = false;
    for (unsigned i = 0; i < ends; i++) found |= ended[i] == number;
    return found;
}

static inline unsigned threads(pid_t *numbers) {
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (directory == NULL) check_skip("no /proc");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && count < MOST_THREADS && !has_ended(atoi(entry->d_name)))
            numbers[count++] = atoi(entry->d_name);
    closedir(directory);
    return count;
}

static inline bool is_reclaimer(pid_t number) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", number);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    bool named = fgets(name, sizeof name, file) != NULL && strncmp(name, "jw-reclaim", 10) == 0;
    fclose(file);
    return named;
}

/* A line of a thread's status, as a number of base 16 or 10. */
static inline unsigned long long status(pid_t thread, const char *key, int base) {
    char path[64], line[256];
    unsigned long long value = ~0ull;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL) return value;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0) value = strtoull(line + strlen(key) + 1, NULL, base);
    fclose(file);
    return value;
}

static unsigned of_program = 1; /* threads */

/* Until the library's thread has shut itself in, up to 20 s; up to 100 ms where there is none beside the program's. */
static inline void await_reclaimer(void) {
    for (int tries = 0, most = 20; tries < most; tries++, usleep(5000)) {
        pid_t numbers[MOST_THREADS];
        unsigned count = threads(numbers);
        for (unsigned i = 0; i < count; i++)
            if (is_reclaimer(numbers[i]) && status(numbers[i], "Seccomp:", 10) == 2) return;
        most = count > of_program ? 4000 : 20;
    }
}

static inline void *sleep_on(void *unused) {
    free(malloc(100));
    pthread_barrier_wait(&together);
    for (;;) pause(); /* libc's setuid interrupts it */
    return unused;
}

static inline void start_sleeper(void) {
    pthread_t thread;
    pthread_barrier_init(&together, NULL, 2);
    CHECK(pthread_create(&thread, NULL, sleep_on, NULL) == 0);
    of_program++;
    pthread_barrier_wait(&together);
}

static inline void make_sleeper(void) {
    start_sleeper();
    await_reclaimer();
}

#endif
