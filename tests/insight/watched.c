/* watched.c - a program to look at from outside: known objects of each tier, in two threads, then it does what its
 * standard input says.
 *
 *   p   prints what malloc_info says           f   forks: the child allocates 500 objects of 96 bytes, and does this
 * too
 *   b   two threads allocate and free          c   closes its files but the first three
 *   e   ends */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 64, SMALLS = 1000, MID = 5000, MIDS = 20, LARGE = 100000, HUGE_SIZE = 10 << 20, CHILDS = 500 };

static void *kept[4 * SMALLS];
static size_t kept_count;
static pthread_barrier_t allocated;
static atomic_bool busy;

static void *keep(size_t size) {
    void *object = malloc(size);
    memset(object, 1, size < 4096 ? size : 4096);
    return kept[kept_count++] = object;
}

/* Half of its objects are freed by the first thread. */
static void *second_thread(void *unused) {
    static void *objects[SMALLS];
    (void)unused;
    for (int i = 0; i < SMALLS; i++) objects[i] = malloc(2 * SMALL);
    kept[kept_count++] = objects;
    pthread_barrier_wait(&allocated);
    pause();
    return objects;
}

static void *busy_thread(void *unused) {
    enum { OBJECTS = 2000 };
    void **objects = calloc(OBJECTS, sizeof *objects);
    unsigned random = 1;
    while (busy) {
        void **object = &objects[(random = random * 1103515245 + 12345) >> 8 & 1023];
        free(*object);
        *object = malloc(random >> 20 & 7 ? random >> 16 & 4095 : random >> 10 & 0x1fffff);
    }
    for (int i = 0; i < OBJECTS; i++) free(objects[i]);
    free(objects);
    return unused;
}

static void be_busy(void) {
    pthread_t threads[2];
    busy = true;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, busy_thread, NULL);
    while (getchar() != 'q') {
    }
    busy = false;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void become_child(void) {
    pid_t child = fork();
    if (child > 0) {
        waitpid(child, NULL, 0);
        _exit(0);
    }
    for (int i = 0; i < CHILDS; i++) keep(96);
}

int main(void) {
    static char buffers[2][4096];
    pthread_t second;
    setvbuf(stdin, buffers[0], _IONBF, 0);
    setvbuf(stdout, buffers[1], _IOLBF, sizeof buffers[1]);
    pthread_barrier_init(&allocated, NULL, 2);
    for (int i = 0; i < SMALLS; i++) keep(SMALL);
    for (int i = 0; i < MIDS; i++) keep(MID);
    keep(LARGE);
    free(memset(malloc(3 * LARGE), 1, 3 * LARGE));
    keep(HUGE_SIZE);
    pthread_create(&second, NULL, second_thread, NULL);
    pthread_barrier_wait(&allocated);
    void **objects = kept[kept_count - 1];
    for (int i = 0; i < SMALLS; i += 2) free(objects[i]);
    for (int order = 's'; order != EOF && order != 'e'; order = getchar()) {
        if (order == 'f') become_child();
        if (order == 'b') be_busy();
        if (order == 'c') closefrom(3);
        if (order == 'p') malloc_info(0, stdout);
        if (order != '\n') printf("%d\n", getpid());
    }
    return 0;
}
