/* transcript_program.h - the program of a transcript: the objects that it has, and the steps in which it makes them. */
#ifndef JW_TESTS_TRANSCRIPT_PROGRAM_H
#define JW_TESTS_TRANSCRIPT_PROGRAM_H

#include "transcript.h"

#include "backend/timed_purge.h"
#include "core/purge.h"

enum { SLOTS = 8192 };

static struct {
    char *start;
    size_t size;
    unsigned heap;
} live[SLOTS];

static unsigned live_count; /* those beyond are free */

/* --- The program ------------------------------------------------------------------------------------------------ */

static void keep(unsigned heap, void *object, size_t size) {
    CHECK(live_count < SLOTS);
    live[live_count].start = object;
    live[live_count].size = size;
    live[live_count].heap = heap;
    live_count++;
    note_place(object);
    pattern_fill(object, size, size);
}

static void *take(unsigned heap, size_t size) {
    heap_enter(heaps[heap]);
    void *object = jw_malloc(size);
    if (object) keep(heap, object, size);
    heap_enter(heaps[0]);
    return object;
}

static void give_as(unsigned heap, unsigned i) {
    CHECK(pattern_holds(live[i].start, live[i].size, live[i].size));
    free_as(heap, live[i].start);
    live[i] = live[--live_count];
}

static inline void take_many(unsigned heap, unsigned count, size_t size) {
    for (unsigned i = 0; i < count; i++) CHECK(take(heap, size));
}

/* The newest ones, of which each `part`-th; by another heap, or (HEAPS) by that which has made it. */
static void give_many(unsigned heap, unsigned count, unsigned part) {
    unsigned at = live_count;
    for (unsigned i = 0; i < count && at-- > 0; i++)
        if (i % part == 0) give_as(heap < HEAPS ? heap : live[at].heap, at);
}

static void give_all(void) {
    while (live_count > 0) give_as(live[live_count - 1].heap, live_count - 1);
}

static inline void change(unsigned i, size_t size) {
    size_t kept = size < live[i].size ? size : live[i].size;
    heap_enter(heaps[live[i].heap]);
    char *object = serve_resized(live[i].start, size);
    heap_enter(heaps[0]);
    if (!object) return;
    CHECK(pattern_holds(object, kept, live[i].size));
    live[i].start = object;
    live[i].size = size;
    note_place(object);
    pattern_fill(object, size, size);
}

static struct {
    size_t objects, bytes;
} found;

static void find(uintptr_t object, size_t size, void *argument) {
    (void)object, (void)argument;
    found.objects++;
    found.bytes += size;
}

/* All objects of the program are found, and no other; and all heaps are as heap_walk.h says. */
static void end(void) {
    size_t bytes = 0;
    end_step();
    found.objects = found.bytes = 0;
    CHECK(iterate_objects(0, SIZE_MAX, find, NULL) != GUARDED);
    for (unsigned i = 0; i < live_count; i++) bytes += serve_object_size(live[i].start);
    if (!GUARDED && (found.objects != live_count || found.bytes != bytes))
        dprintf(STDERR_FILENO, "%zu objects of %zu bytes, not %u of %zu: %s\n", found.objects, found.bytes, live_count,
                bytes, transcript.text + (transcript.length > 200 ? transcript.length - 200 : 0));
    CHECK(GUARDED || (found.objects == live_count && found.bytes == bytes));
    for (unsigned i = 0; i < HEAPS; i++)
        if (heaps[i]->size_map[0] == NO_LIST) walk_heap(heaps[i]); /* not disabled */
}

#define STEP(name, ...)                                                                                                \
    do {                                                                                                               \
        begin_step(name);                                                                                              \
        __VA_ARGS__;                                                                                                   \
        end();                                                                                                         \
    } while (0)

/* Runs the reclamation thread until it ends; 0: it was not started. */
static void run_thread(void) {
    void (*body)(void) = sim_take_thread();
    if (body) body();
}

/* Else the hardened build keeps the addresses of slabs. */
static void give_up_regions(void) {
#if JW_SECURE
    regions_give_up();
    purge_for(PURGE_OWN, NO_LIMIT);
#endif
}

static void end_script(void) {
    STEP(
        "the end", give_all(); for (unsigned i = 0; i < (1 + QUARANTINED) * HEAPS; i++) {
            heap_enter(heaps[i % HEAPS]);
            serve_drain();
        } heap_enter(heaps[0]);
        purge_for(PURGE_OWN, NO_LIMIT); run_thread(); give_up_regions(); reclaimer_forget());
    CHECK(root_count() == 0 && huge_bytes_in_use() == 0);
    CHECK(free_granules(MAPPED) == 0 && free_granules(UNMAPPED) == 0);
}

static inline void begin_script(const char *name) {
    say("\n%s\n\n", name);
    start();
    options.reclaim_thread = THREAD_TRUE;
}

#endif
