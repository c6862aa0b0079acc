/* heap_ends.h - threads that end, and leave something in their heaps. */
#ifndef JW_TESTS_HEAP_ENDS_H
#define JW_TESTS_HEAP_ENDS_H

#include <pthread.h>

#include "heap_players.h"

enum { SLABS = 8 * SIZE_CLASS_COUNT, PER_SLAB = GRANULE_SIZE / FRONTEND_MAX };
static void *many[SLABS * PER_SLAB];

static bool asked; /* whether the thread that ended last has asked for a round by that */

static inline struct heap *end_thread(void) {
    struct heap *mine = thread.heap;
    reclaimer_forget();
    sim_take_thread();
    sim_thread_exit();
    asked = sim_take_thread();
    return mine;
}

static inline void *run(void *(*thread_of)(void *), void *argument) {
    pthread_t thread;
    void *ended = NULL;
    CHECK(pthread_create(&thread, NULL, thread_of, argument) == 0 && pthread_join(thread, &ended) == 0);
    return ended;
}

/* Nothing remains but so many empty slabs. */
static inline void *leave_a_pool(void *count) {
    for (unsigned i = 0; i < *(unsigned *)count * PER_SLAB; i++) many[i] = jw_malloc(FRONTEND_MAX);
    for (unsigned i = 0; i < *(unsigned *)count * PER_SLAB; i++) jw_free(many[i]);
    struct heap *mine = end_thread();
    CHECK(mine->in_use_count == 0);
    return mine;
}

#endif
