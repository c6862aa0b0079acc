/* mixed.c - calls of malloc and free of many sizes, for ./jw asm --longest to count one by one.
 *
 *   mixed THREADS LEAST MOST PAIRS churn|waves
 *
 * churn: each thread replaces one of its objects at random; each eighth time it exchanges it with an object of another
 * thread first. waves: it allocates all, then frees all in random order. Sizes are drawn so that each octave is equally
 * likely. Calls stand between begin_malloc() or begin_free() and end_call(), which do nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024, SHARED = 256, EXCHANGES = 8, THREADS_MOST = 64, PAGE = 4096, LIVE_MOST = 64 << 20 };

static void *(*allocate)(size_t size);
static void (*release)(void *object);
static void *_Atomic shared[SHARED];
static size_t least, most, pairs, threads;
static int waves;
static pthread_barrier_t ready;
extern char __executable_start, etext;

#define MARK(name)                                                                                                     \
    __attribute__((noinline, noclone)) void name(void);                                                                \
    void name(void) {                                                                                                  \
        __asm__ volatile("" ::: "memory");                                                                             \
    }
MARK(begin_malloc)
MARK(begin_free)
MARK(end_call)

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static size_t next_size(uint64_t *state) {
    unsigned low = 63 - (unsigned)__builtin_clzll(least), high = 63 - (unsigned)__builtin_clzll(most);
    size_t base = (size_t)1 << (low + next_random(state) % (high - low + 1));
    size_t size = base + next_random(state) % base;
    return size < least ? least : size > most ? most : size;
}

static void *get(uint64_t *state) {
    size_t size = next_size(state);
    begin_malloc();
    char *object = allocate(size);
    end_call();
    if (!object) abort();
    for (size_t at = 0; at < size; at += PAGE) object[at] = 1;
    return object;
}

static void put(void *object) {
    begin_free();
    release(object);
    end_call();
}

static size_t slots(void) {
    size_t fit = LIVE_MOST / threads / (most / 4 + 1);
    return fit < 16 ? 16 : fit < SLOTS ? fit : SLOTS;
}

static void churn(void **objects, uint64_t *state) {
    for (size_t pair = 0; pair < pairs; pair++) {
        void **slot = &objects[next_random(state) % slots()];
        if (pair % EXCHANGES == 0 && threads > 1) {
            *slot = atomic_exchange(&shared[next_random(state) % SHARED], *slot);
        }
        if (*slot) put(*slot);
        *slot = get(state);
    }
}

static void wave(void **objects, uint64_t *state) {
    size_t count = slots();
    for (size_t pair = 0; pair < pairs; pair += count) {
        for (size_t i = 0; i < count; i++) objects[i] = get(state);
        for (size_t i = count; i-- > 1;) {
            size_t other = next_random(state) % (i + 1);
            void *object = objects[i];
            objects[i] = objects[other];
            objects[other] = object;
        }
        for (size_t i = 0; i < count; i++) put(objects[i]);
    }
}

static void *run(void *argument) {
    void *objects[SLOTS] = {NULL};
    uint64_t state = 0x9e3779b97f4a7c15u * ((uintptr_t)argument + 1);
    pthread_barrier_wait(&ready);
    if (waves) wave(objects, &state);
    else churn(objects, &state);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    threads = strtoul(argv[1], NULL, 10);
    least = strtoul(argv[2], NULL, 10);
    most = strtoul(argv[3], NULL, 10);
    pairs = strtoul(argv[4], NULL, 10);
    waves = strcmp(argv[5], "waves") == 0;
    if (threads < 1 || threads > THREADS_MOST || least < 1 || most < least) return 2;
    allocate = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    release = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
    Dl_info place;
    if (!dladdr((void *)(uintptr_t)allocate, &place)) return 1;
    printf("base %#lx program %p %p\n", (unsigned long)(uintptr_t)place.dli_fbase, (void *)&__executable_start,
           (void *)&etext);
    fflush(stdout);
    pthread_t thread[THREADS_MOST];
    pthread_barrier_init(&ready, NULL, (unsigned)threads);
    for (size_t i = 1; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, run, (void *)i)) return 1;
    }
    run(NULL);
    for (size_t i = 1; i < threads; i++) pthread_join(thread[i], NULL);
    return 0;
}
