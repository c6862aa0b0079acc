/* heap_shortage.c - the signs that something has come back since a malloc has failed. */
#include "frontend/heap_shortage.h"

#include "backend/thrift.h"
#include "base/mixed.h"
#include "config/policy.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_table.h"
#include "frontend/remote_work.h"
#include "midend/mid_slab.h"

static bool mid_caches_are_used(const struct heap *heap) {
    bool used = false;
    for (unsigned i = 0; i < MID_CACHES; i++) used |= heap->mid_caches[i].held_bytes || heap->mid_caches[i].cached;
    return used;
}

static COLD uint64_t signs_of(const struct heap *heap) {
    uint64_t signs = stamped(thrift_change_stamp(), mid_slab_empties_left());
    signs = stamped(signs, remote_work_count() + ((uint64_t)heap->range_cache.pushes << 32));
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++)
        signs = stamped(signs, (uintptr_t)heap->local[size_class].first) + heap->local[size_class].budget;
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *other = heap_by_number(number);
        if (!other) continue;
        uint64_t thread = atomic_load_explicit(&other->thread, memory_order_relaxed);
        signs = stamped(signs, (thread << 32) + hint_counter_read(&other->pool.uses));
    }
    return signs;
}

COLD wide_bool heap_fails_at_once(struct heap *heap) {
    struct shortage *last = &heap->shortage;
    bool same = heap->wants_slabs && heap->maintenance_ticks == last->ticks + 1 && !heap_has_reopened(heap) &&
                !heap_has_suspects(heap) && !mid_caches_are_used(heap) && signs_of(heap) == last->signs;
    if (!same || ++last->skipped % SHORTAGE_PERIOD == 0) return false;
    last->ticks++;
    return true;
}

COLD void heap_note_shortage(struct heap *heap) {
    heap->shortage = (struct shortage){.signs = signs_of(heap), .ticks = heap->maintenance_ticks};
}
