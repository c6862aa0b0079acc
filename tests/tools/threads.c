/* threads.c - a correct program with threads, which is run on the preloaded library beside Valgrind. Prints "correct".
 * Each thread ends after pthread_create has returned to main: a pipe says so, in which Valgrind's tools see no order.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3, OBJECTS = 1000, SIZE = 1000 };
static int made[2];

static void *work(void *argument) {
    static _Thread_local void *objects[OBJECTS];
    char byte;
    for (unsigned i = 0; i < OBJECTS; i++) objects[i] = malloc(SIZE);
    for (unsigned i = 0; i < OBJECTS; i++) free(objects[i]);
    return read(made[0], &byte, 1) == 1 ? argument : NULL;
}

int main(void) {
    pthread_t thread;
    void *ended = NULL;
    if (pipe(made) != 0) return 1;
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, work, made) != 0 || write(made[1], "", 1) != 1 ||
            pthread_join(thread, &ended) != 0 || ended != made)
            return 1;
    puts("correct");
    return 0;
}
