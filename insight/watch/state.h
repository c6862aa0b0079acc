/* state.h - one look at the heap of a watched process: what the library's statistics say, and what a walk adds. */
#ifndef JW_WATCH_STATE_H
#define JW_WATCH_STATE_H

#include "frontend/heap.h"
#include "statistics/statistics.h"
#include "watch/page.h"

/* Bytes of one size class: objects of the program; free with memory behind it; free without. */
struct class_bytes {
    uint64_t in_use, mapped, unmapped;
};

/* What one heap has. `out`: bytes of small objects in use, or ready in its local lists. */
struct heap_bytes {
    uint32_t thread, slow_paths; /* the kernel's number, 0: none; calls that took a slow path of the frontend */
    bool abandoned;
    uint64_t slabs, reserved, out, pooled, given_back, cached_mid, cached_ranges;
};

enum run_kind { RUN_SMALL, RUN_MID, RUN_LARGE, RUN_FREE, RUN_UNMAPPED, RUN_HELD, RUN_DEFERRED, RUN_CLOSED, RUN_KINDS };

/* Neighbours of one kind and size. `used`: bytes of objects that are out. `owner`: a small slab's heap. */
struct run {
    uintptr_t address;
    uint32_t granules, size, owner;
    enum run_kind kind;
    uint64_t used;
};

enum { HEAPS_MOST = 1 << KEY_NUMBER_BITS };

struct state {
    struct watch_page page;
    struct statistics statistics;
    struct class_bytes small[SMALL_CLASSES_MOST], mid[MID_CLASSES_MOST], ranges[RANGE_CLASSES_MOST];
    struct heap_bytes *heaps; /* by number */
    uint32_t heap_count, reclaimer_state;
    uint64_t wakeups;
    bool wants_runs;
    struct run *runs;
    size_t run_count;
    uintptr_t *roots, *spares; /* addresses */
    size_t root_count, spare_count;
    struct run *huge;
    size_t huge_count;
};

extern struct state state;
extern _Atomic(size_t) linux_calls; /* platform/linux_call.h */

/* Makes room for what will be read. Called once, before the first look. */
void state_start(void);

/* Called by remote_try, after remote_look. */
void state_gather(void);

#endif
