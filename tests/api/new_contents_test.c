/* new_contents_test.c - new objects hold what the option `init` says, all of their usable bytes, from every function
 * and on every thread. The argument is the option's value; `run_time`: mallopt sets it. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ANDROID_ZERO_INIT = -203, ROUNDS = 2, OBJECTS = 40, PATTERN = 0xab };

static const size_t sizes[] = {0,    1,     8,     9,     24,     100,     560,     2048,    2049,
                               5000, 14000, 16384, 20000, 150000, 1500000, 3000000, 5000000, 20000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static unsigned char wanted;

static void check_contents(const unsigned char *object, size_t size, unsigned char byte) {
    CHECK(object != NULL);
    size_t usable = malloc_usable_size((void *)(uintptr_t)object); // NOLINT(performance-no-int-to-ptr)
    CHECK(usable >= size);
    CHECK(usable == 0 || object[0] == byte);
    CHECK(usable == 0 || memcmp(object, object + 1, usable - 1) == 0); /* each byte is as the one before it */
}

/* Memory that has been written to, and comes back. */
static void soil(void *object) {
    memset(object, 0x55, malloc_usable_size(object));
    free(object);
}

static void check_size(size_t size) {
    unsigned char *objects[OBJECTS];
    unsigned count = size > 100000 ? 2 : OBJECTS;
    for (unsigned i = 0; i < count; i++) check_contents(objects[i] = malloc(size), size, wanted);
    for (unsigned i = 0; i < count; i++) soil(objects[i]);
    for (size_t alignment = 16; alignment <= 65536; alignment *= 16) {
        void *object = NULL;
        CHECK(posix_memalign(&object, alignment, size) == 0);
        check_contents(object, size, wanted);
        soil(object);
    }
    unsigned char *zero = calloc(1, size);
    check_contents(zero, size, 0);
    soil(zero);
    unsigned char *moved = malloc(size);
    CHECK(moved != NULL);
    memset(moved, 1, malloc_usable_size(moved));
    size_t old = malloc_usable_size(moved);
    moved = realloc(moved, size + 100000);
    CHECK(moved != NULL);
    for (size_t i = 0; i < old; i++) CHECK(moved[i] == 1);
    soil(moved);
}

/* realloc from `size` to `larger` fills what is new, in place or not; soiled memory that was cut off lies behind it. */
static void check_growth(size_t size, size_t larger) {
    unsigned char *object = malloc(larger);
    CHECK(object != NULL);
    memset(object, 0x55, malloc_usable_size(object));
    object = realloc(object, size);
    CHECK(object != NULL);
    size_t old = malloc_usable_size(object);
    object = realloc(object, larger);
    CHECK(object != NULL && object[0] == 0x55 && object[size - 1] == 0x55);
    size_t usable = malloc_usable_size(object);
    if (usable > old) {
        CHECK(object[old] == wanted);
        CHECK(memcmp(object + old, object + old + 1, usable - old - 1) == 0);
    }
    soil(object);
}

static void *check_all(void *unused) {
    (void)unused;
    for (unsigned i = 1; i + 2 < SIZES; i++)
        for (unsigned j = 1; j <= 2; j++) check_growth(sizes[i], sizes[i + j]);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < SIZES; i++) check_size(sizes[i]);
    return NULL;
}

/* Each size is the first that its thread asks for. */
static void *first_of_thread(void *size) {
    unsigned char *object = malloc((uintptr_t)size);
    check_contents(object, (uintptr_t)size, wanted);
    soil(object);
    return NULL;
}

static void in_thread(void *(*function)(void *), size_t argument) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, function, (void *)argument) == 0); // NOLINT(performance-no-int-to-ptr)
    CHECK(pthread_join(thread, NULL) == 0);
}

static void check_everywhere(void) {
    check_all(NULL);
    in_thread(check_all, 0);
    for (unsigned i = 0; i < SIZES; i++) in_thread(first_of_thread, sizes[i]);
}

static bool switched; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(bool) ends;

/* Objects are zero from then on; while it is switched on, the others go on. */
static void switch_to(bool zero) {
    if (zero) CHECK(mallopt(ANDROID_ZERO_INIT, 1) == 1);
    pthread_mutex_lock(&lock);
    if (!zero) CHECK(mallopt(ANDROID_ZERO_INIT, 0) == 1);
    switched = zero;
    pthread_mutex_unlock(&lock);
}

/* Allocates all the time; an object that was asked for after the switch is zero. */
static void *work(void *unused) {
    (void)unused;
    for (unsigned i = 0; !atomic_load(&ends); i++) {
        size_t size = sizes[i % (SIZES - 5)];
        pthread_mutex_lock(&lock);
        bool after = switched;
        unsigned char *object = malloc(size);
        pthread_mutex_unlock(&lock);
        if (after) check_contents(object, size, 0);
        soil(object);
    }
    return NULL;
}

static void switch_at_run_time(void) {
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 1000; i++) soil(malloc(100));
        switch_to(true);
        check_all(NULL);
        for (unsigned i = 0; i < SIZES; i++) in_thread(first_of_thread, sizes[i]);
        switch_to(false);
    }
    atomic_store(&ends, true);
    for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    unsigned char *object = malloc(100); /* old bytes are to be seen again: nothing is filled any more */
    soil(object);
    object = malloc(100);
    CHECK(object != NULL && object[50] == 0x55);
    free(object);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    wanted = strcmp(mode, "pattern") == 0 ? PATTERN : 0;
    if (strcmp(mode, "run_time") == 0) switch_at_run_time();
    else check_everywhere();
    return 0;
}
