/* spared_ended.c - with spare_callers:true threads come and go. When the last one has gone, our thread gives back what
 * they have freed before it ends, too: no thread may afterwards. */
#include "check.h"
#include "entry_points.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MB ((size_t)1 << 20)

enum { THREADS = 4, PIECES = 100, STEP = 30000 };

static void *work(void *argument) {
    char *objects[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        objects[i] = malloc((i + 1) * STEP);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, (i + 1) * STEP);
    }
    for (size_t i = 0; i < PIECES; i++) free(objects[i]);
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    size_t before = resident_bytes();
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    AWAIT(resident_bytes() <= before + 16 * MB);
    return 0;
}
