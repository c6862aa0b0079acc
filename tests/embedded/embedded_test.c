/* embedded_test.c - the core inside a C library: whose word a thread has, when a heap changes hands, what fork does.
 * The other programs that run there are the tests of the entry points and of threads (embed.py).
 */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "embedded/slot.h"
#include "entry_points.h"
#include "frontend/heap_table.h"
#include "frontend/thread_heap.h"
#include "platform/platform.h"

#include <errno.h>
#include <sys/wait.h>

enum { THREADS = 200, OBJECTS = 50 };

/* A new thread has no heap; its first small object brings one, which is its word. */
static void *begin(void *unused) {
    (void)unused;
    CHECK(host_word() == &no_heap);
    void *object = malloc(100);
    CHECK(host_word() != &no_heap && host_word() == heap_of(slab_of(object)));
    CHECK(((struct heap *)host_word())->thread == platform_thread_id());
    free(object);
    return host_word();
}

static void *run(void *(*body)(void *), void *argument) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    return result;
}

/* While a round drains the heap that waits, the next thread may take another one. */
static void heaps_change_hands(void) {
    enum { ONE_IN_A_ROUND = 1 };
    run(begin, NULL);
    uint32_t heaps = heap_count();
    for (int i = 0; i < THREADS; i++) run(begin, NULL);
    CHECK(heap_count() <= heaps + ONE_IN_A_ROUND);
}

/* Half of a thread's objects are freed by the next thread, half by this one. */
static void *leave(void *objects) {
    void **mine = objects;
    for (int i = 0; i < OBJECTS; i++) {
        if (mine[i] != NULL) CHECK(pattern_holds(mine[i], 80, (uint64_t)i));
        if (i % 2 == 0) free(mine[i]);
        if (i % 2 == 0 || mine[i] == NULL) pattern_fill(mine[i] = malloc(80), 80, (uint64_t)i);
    }
    return NULL;
}

static void objects_outlive_their_thread(void) {
    void *objects[OBJECTS] = {NULL};
    for (int i = 0; i < 10; i++) run(leave, objects);
    for (int i = 0; i < OBJECTS; i++) {
        CHECK(pattern_holds(objects[i], 80, (uint64_t)i));
        free(objects[i]);
    }
}

static void *fail(void *unused) {
    (void)unused;
    CHECK(malloc(IMPOSSIBLE_SIZE) == NULL && errno == ENOMEM);
    return NULL;
}

static void each_thread_has_its_errno(void) {
    errno = 1234;
    run(fail, NULL);
    CHECK(errno == 1234);
    fail(NULL);
}

/* The child gives out other objects than the parent (fresh_after_fork), and its heap is another one. */
static void a_child_takes_a_heap_of_its_own(void) {
    int status = -1;
    void *object = malloc(64), *heap = host_word();
    int child = fork();
    if (child == 0) {
        CHECK(host_word() == &no_heap);
        free(object);
        for (int i = 0; i < 1000; i++) CHECK(malloc((size_t)i) != NULL);
        CHECK(host_word() != heap);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(host_word() == heap);
    free(object);
}

int main(void) {
    CHECK(host_word() == &no_heap || heap_count() > 0);
    heaps_change_hands();
    objects_outlive_their_thread();
    each_thread_has_its_errno();
    a_child_takes_a_heap_of_its_own();
    return 0;
}
