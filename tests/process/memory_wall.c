/* memory_wall.c - a process that may map no more: NULL and ENOMEM, nothing lost, and as good as new after the frees.
 *
 *   memory_wall              the wall comes while the heap is in use
 *   memory_wall MEGABYTES    the wall is there from the start (the program starts itself again behind it)
 */
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "tiers.h"

static const size_t sizes[] = {32, 500, 2048, 3000, 12000, 20000, 300000, 2000000, 9000000};

struct link {
    struct link *next;
    size_t size;
};

/* Allocates until the wall, checks every byte, frees all; returns how many objects there were. */
static size_t fill_to_the_wall(size_t only) {
    uint64_t seed = 1;
    size_t objects = 0;
    struct link *first = NULL;
    for (;;) {
        size_t size = only != 0 ? only : sizes[random_below(&seed, sizeof sizes / sizeof *sizes)];
        errno = 0;
        struct link *link = objects % 5 == 4 ? aligned_alloc(64, size) : malloc(size);
        if (link == NULL) {
            CHECK(errno == ENOMEM);
            break;
        }
        *link = (struct link){first, size};
        pattern_fill(link + 1, size - sizeof *link, objects++);
        first = link;
    }
    errno = 0;
    CHECK(malloc((size_t)1 << 30) == NULL && errno == ENOMEM);
    for (size_t i = objects; first != NULL;) {
        struct link *next = first->next;
        CHECK(pattern_holds(first + 1, first->size - sizeof *first, --i));
        free(first);
        first = next;
    }
    return objects;
}

/* Started before the wall is reached: the stacks of new threads would find no room behind it. */
static pthread_barrier_t start;

static void *fill_in_thread(void *unused) {
    (void)unused;
    pthread_barrier_wait(&start);
    for (int round = 0; round < 3; round++) CHECK(fill_to_the_wall(0) > 0);
    return NULL;
}

/* A realloc that cannot grow leaves its object as it is. */
static void realloc_at_the_wall(void) {
    size_t size = 1 << 20;
    char *object = malloc(size);
    CHECK(object != NULL);
    pattern_fill(object, size, 3);
    for (;;) {
        errno = 0;
        char *grown = realloc(object, size + (3 << 20));
        if (grown == NULL) break;
        object = grown;
        size += 3 << 20;
        pattern_fill(object, size, 3);
    }
    CHECK(errno == ENOMEM);
    CHECK(pattern_holds(object, size, 3));
    free(object);
}

/* Whatever filled the wall before, any other size must find room afterwards. */
static void behind_the_wall(void) {
    const size_t kinds = sizeof sizes / sizeof *sizes;
    size_t objects[sizeof sizes / sizeof *sizes];
    pthread_t threads[2];
    pthread_attr_t small_stack;
    CHECK(pthread_attr_init(&small_stack) == 0 && pthread_attr_setstacksize(&small_stack, 256 << 10) == 0);
    CHECK(pthread_barrier_init(&start, NULL, 3) == 0);
    for (size_t i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], &small_stack, fill_in_thread, NULL) == 0);
    for (size_t i = 0; i < kinds; i++) {
        objects[i] = fill_to_the_wall(sizes[i]);
        CHECK(objects[i] > 0);
    }
    for (size_t i = kinds; i-- > 0;) {
        size_t again = fill_to_the_wall(sizes[i]);
        printf("%zu objects of %zu bytes, then %zu\n", objects[i], sizes[i], again);
        CHECK(again >= objects[i] / 2);
    }
    realloc_at_the_wall();
    CHECK(fill_to_the_wall(0) > 0);
    tiers_work(1);
    pthread_barrier_wait(&start);
    for (size_t i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    tiers_work(2);
}

static void raise_the_wall(size_t bytes) {
    struct rlimit wall = {bytes, bytes};
    CHECK(setrlimit(RLIMIT_AS, &wall) == 0);
}

int main(int count, char **arguments) {
    setbuf(stdout, NULL);
    if (count == 2 && strcmp(arguments[1], "behind") != 0) {
        raise_the_wall((size_t)atol(arguments[1]) << 20);
        execl("/proc/self/exe", arguments[0], "behind", (char *)NULL);
        CHECK(false);
    }
    if (count == 1) {
        tiers_work(0);
        raise_the_wall(proc_bytes("/proc/self/status", "VmSize") + (100u << 20));
    }
    behind_the_wall();
    return 0;
}
