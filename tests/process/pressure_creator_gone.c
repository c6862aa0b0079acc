/* pressure_creator_gone.c - the thread that has started the reclamation thread ends, and its stack goes, with its
 * thread-local storage. Rounds that read the control group's files go on all the same.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { STACK = 64 << 20, COUNT = 64, SIZE = 100000, TIMES = 30 };

static void use_and_free(void) {
    void *objects[COUNT];
    for (int i = 0; i < COUNT; i++) {
        objects[i] = malloc(SIZE);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, SIZE);
    }
    for (int i = 0; i < COUNT; i++) free(objects[i]);
}

static void *start_reclamation(void *unused) {
    use_and_free();
    return unused;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK) == 0);
    CHECK(pthread_create(&thread, &attributes, start_reclamation, NULL) == 0 && pthread_join(thread, NULL) == 0);
    for (int i = 0; i < TIMES; i++) {
        use_and_free();
        usleep(10000);
    }
    return 0;
}
