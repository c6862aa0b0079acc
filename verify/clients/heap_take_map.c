/* heap_take_map - a thread opens the finer classes of its heap and ends; another one takes the heap, or a new one.
 *
 * bound     2 threads, and main, which has the first heap; 5 objects open the classes; then the end of that thread, and
 *           1 allocation by the next one
 * property  each heap's map agrees with its counts, and classes that were open stay open in the next thread's hands
 * defines   -DJW_COARSE_SLABS=1
 */
#include "frontend/size_map.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 48, COARSE = 64, OBJECTS = 5 };

static uint64_t *objects[OBJECTS];

static bool is_open(const struct heap *heap) {
    unsigned fine = size_class_of(SIZE), coarse = size_class_of(COARSE);
    bool open = heap->coarse_slabs[coarse] == 0;
    assert(size_class_coarse(fine) == coarse);
    assert(heap->size_map[SIZE] == (open ? fine : coarse) * FREE_TARGET_WORDS);
    assert(heap->size_map[COARSE] == coarse * FREE_TARGET_WORDS);
    return open;
}

/* Alone in a new heap it has one slab; with the two that the other thread has left the classes are open. */
static void *taking(void *unused) {
    (void)unused;
    uint64_t *object = get(SIZE, OBJECTS);
    bool open = is_open(thread.heap);
    assert(open == (thread.heap->in_use_count > 1));
    assert(slab_of(object)->class == size_class_of(open ? SIZE : COARSE));
    give(object, SIZE, OBJECTS);
    model_thread_exit();
    return NULL;
}

static void *opening(void *unused) {
    (void)unused;
    objects[0] = get(SIZE, 0);
    assert(!is_open(thread.heap));
    for (size_t i = 1; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    assert(is_open(thread.heap));
    pthread_t next = start(taking, NULL);
    model_thread_exit();
    finish(next);
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 0);
    assert(is_open(thread.heap));
    finish(start(opening, NULL));
    give(own, SIZE, 0);
    for (size_t i = 0; i < OBJECTS; i++) give(objects[i], SIZE, i);
    expect_nothing_left();
    return 0;
}
