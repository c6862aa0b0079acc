/* threads.c - a correct program with threads, which is run on the preloaded library beside Valgrind. Prints "correct".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, OBJECTS = 1000, SIZE = 1000 };

static void *work(void *argument) {
    static _Thread_local void *objects[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) objects[i] = malloc(SIZE);
    for (unsigned i = 0; i < OBJECTS; i++) free(objects[i]);
    return argument;
}

int main(void) {
    pthread_t thread;
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    puts("correct");
    return 0;
}
