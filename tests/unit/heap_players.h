/* heap_players.h - several heaps and one thread, which acts for the heap that thread.heap points to. */
#ifndef JW_TESTS_HEAP_PLAYERS_H
#define JW_TESTS_HEAP_PLAYERS_H

#include "api/serve.h"
#include "core/allocator.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/thread_heap.h"
#include "heap_walk.h"
#include "unit.h"

enum { HEAPS = 3 };

static struct heap *heaps[HEAPS];

static inline void start(void) {
    options = default_options;
    options.reclaim_thread = THREAD_TRUE;
    if (!heaps[0]) heaps[0] = heap_attach();
    for (unsigned i = 1; i < HEAPS; i++)
        if (!heaps[i]) heaps[i] = heap_take_or_create();
    heap_enter(heaps[0]);
    for (unsigned i = 0; i < HEAPS; i++)
        CHECK(heaps[i] && heaps[i]->in_use_count == 0 && pool_is_empty(&heaps[i]->pool));
}

/* All objects are free: so are all slabs, and the roots go back. */
static inline void finish(void) {
    for (unsigned i = 0; i < HEAPS; i++) {
        heap_enter(heaps[i]);
        heap_drain_own();
        walk_heap(heaps[i]);
        assert_int_equal(heaps[i]->in_use_count, 0);
        assert_true(pool_is_empty(&heaps[i]->pool));
    }
    heap_enter(heaps[0]);
    thrift_purge();
    assert_int_equal(root_count(), 0);
}

static inline void *allocate_as(unsigned heap, size_t size) {
    heap_enter(heaps[heap]);
    void *object = jw_malloc(size);
    CHECK(object);
    heap_enter(heaps[0]);
    return object;
}

static inline void free_as(unsigned heap, void *object) {
    heap_enter(heaps[heap]);
    jw_free(object);
    heap_enter(heaps[0]);
}

static inline void walk_all(void) {
    for (unsigned i = 0; i < HEAPS; i++) walk_heap(heaps[i]);
}

#endif
