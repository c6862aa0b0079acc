/* state.c - walks the tables of a watched process, with the library's own functions (remote.h). */
#include "watch/state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/directory.h"
#include "backend/ownership.h"
#include "backend/reclaimer_words.h"
#include "backend/thrift_counters.h"
#include "frontend/heap_table.h"
#include "frontend/slab_lists.h"
#include "midend/mid_slab.h"
#include "midend/midend.h"
#include "platform/sim.h"
#include "sync/cell.h"
#include "watch/remote.h"

struct state state;

/* Appends to an array that grows by doubling. */
static void *append(void *array, size_t count, size_t size) {
    if (count & (count - 1)) return array;
    void *larger = realloc(array, (count ? 2 * count : 1) * size);
    if (!larger) fail("no memory");
    return larger;
}

static void add_run(const struct run *run) {
    struct run *last = state.run_count ? &state.runs[state.run_count - 1] : NULL;
    bool stands_alone = run->kind == RUN_LARGE || run->kind == RUN_MID || run->address % ROOT_SIZE == 0;
    if (!state.wants_runs) return;
    if (last && !stands_alone && last->kind == run->kind && last->size == run->size && last->owner == run->owner &&
        last->address + last->granules * GRANULE_SIZE == run->address) {
        last->granules += run->granules;
        last->used += run->used;
        return;
    }
    state.runs = append(state.runs, state.run_count, sizeof *run);
    state.runs[state.run_count++] = *run;
}

static void look_at_small(const struct slab *slab, struct run *run) {
    struct cross_word word = cross_get(&slab->cross);
    unsigned class = slab->class;
    struct heap_bytes *heap = &state.heaps[run->owner];
    if (class >= SIZE_CLASS_COUNT) return;
    run->size = size_classes[class].size;
    if (cross_is_taken(word) && !cross_is_kept(word)) {
        state.small[class].unmapped += GRANULE_SIZE;
        heap->given_back += GRANULE_SIZE;
        run->kind = RUN_UNMAPPED;
        return;
    }
    unsigned out = slab_out(slab), waiting = cross_count_of(word);
    if (out <= size_classes[class].capacity && waiting <= out) run->used = (uint64_t)(out - waiting) * run->size;
    state.small[class].mapped += GRANULE_SIZE; /* objects are subtracted at the end */
    heap->slabs++;
    heap->reserved += GRANULE_SIZE;
    heap->out += run->used;
    if (slab_state(slab) == EMPTY) heap->pooled += GRANULE_SIZE;
}

static void look_at_mid(granule_id id, struct run *run) {
    unsigned class = mid_class_of_slab(id);
    if (class >= mid_class_count) return;
    unsigned free = (unsigned)__builtin_popcount(mid_free_bits(mid_word_get(mid_state_at(id))));
    run->size = mid_shapes[class].size;
    if (free <= mid_shapes[class].count) run->used = (uint64_t)(mid_shapes[class].count - free) * run->size;
}

/* Whether the range has no addresses. */
static bool is_closed(granule_id id) {
    const struct cell *closed = remote_variable("closed_parts");
    for (int i = 0; i < CLOSED_PARTS; i++)
        if (cell_look(&closed[i]) == id) return true;
    return false;
}

static void look_at_range(granule_id id, struct leaf_word leaf, struct run *run) {
    uint64_t bytes = (uint64_t)run->granules << JW_GRANULE_SHIFT;
    struct class_bytes *class = &state.ranges[class_of_weight(weight_round_up(run->granules))];
    switch (leaf_kind(leaf)) {
    case FREE:
        run->kind = nest_is_unmapped(leaf_nest(leaf)) ? RUN_UNMAPPED : RUN_FREE;
        *(run->kind == RUN_FREE ? &class->mapped : &class->unmapped) += bytes;
        break;
    case MID:
        run->kind = RUN_MID;
        look_at_mid(id, run);
        break;
    case LARGE:
        run->kind = RUN_LARGE;
        class->in_use += run->used = bytes;
        break;
    case DEFERRED: run->kind = RUN_DEFERRED; break;
    default:
        run->kind = is_closed(id) ? RUN_CLOSED : RUN_HELD;
        *(run->kind == RUN_HELD ? &class->mapped : &class->unmapped) += bytes;
    }
}

static bool begins_range(struct leaf_word leaf) {
    return leaf_is_slab(leaf) || (leaf_kind(leaf) != NONE && leaf_kind(leaf) != INTERIOR);
}

static bool is_spare(granule_id root) {
    const struct cell *spares = remote_variable("spare_roots");
    for (int i = 0; i < JW_SPARE_ROOTS; i++)
        if (cell_look(&spares[i]) == root) return true;
    return false;
}

/* A range goes up to the next granule where something begins. */
static void look_at_root(granule_id root, void *unused) {
    (void)unused;
    bool spare = is_spare(root);
    uintptr_t address = (uintptr_t)granule_address(root);
    uintptr_t **list = spare ? &state.spares : &state.roots;
    size_t *count = spare ? &state.spare_count : &state.root_count;
    *list = append(*list, *count, sizeof **list);
    (*list)[(*count)++] = address;
    for (granule_id id = root, next; id < root + ROOT_GRANULES && !spare; id = next) {
        struct leaf_word leaf = leaf_get(id);
        next = id + 1;
        while (!leaf_is_slab(leaf) && next < root + ROOT_GRANULES && !begins_range(leaf_get(next))) next++;
        struct run run = {.address = address + (id - root) * GRANULE_SIZE, .granules = next - id, .kind = RUN_SMALL};
        if (leaf_is_slab(leaf)) {
            const struct slab *slab = record_at(id);
            run.owner = slab->key ? key_number(slab->key) : 0;
            look_at_small(slab, &run);
        } else {
            look_at_range(id, leaf, &run);
        }
        add_run(&run);
    }
}

static void look_at_heap(uint32_t number) {
    struct heap *heap = heap_by_number(number);
    struct heap_bytes *bytes = &state.heaps[number];
    if (!heap) return;
    bytes->thread = atomic_load(&heap->thread);
    bytes->abandoned = atomic_load(&heap->abandoned);
    bytes->slow_paths = heap->maintenance_ticks;
    bytes->cached_ranges = (uint64_t)range_cache_granules(&heap->range_cache) << JW_GRANULE_SHIFT;
    for (unsigned i = 0; i < MID_CACHES; i++) {
        const struct mid_cache *cache = &heap->mid_caches[i];
        if (cache->cached) bytes->cached_mid += (uint64_t)(cache->most - cache->room) * cache->size;
    }
}

static void look_at_huge(void) {
    uintptr_t word, at = ((uintptr_t)1 << (JW_ADDRESS_BITS - 1)) - 1;
    for (char *object; (object = directory_before((void *)at, false, &word)); at = (uintptr_t)object - 1) {
        state.huge = append(state.huge, state.huge_count, sizeof *state.huge);
        state.huge[state.huge_count++] = (struct run){
            .address = (uintptr_t)object, .granules = (uint32_t)huge_word_granules(word), .kind = RUN_LARGE};
    }
}

/* The walk has counted slabs; objects are those of the statistics, which know the local lists and the caches. */
static void take_objects_off(struct class_bytes *bytes, const struct slab_class_statistics *class, uint64_t reserved) {
    bytes->in_use = class->objects * class->size;
    bytes->mapped = reserved > bytes->in_use ? reserved - bytes->in_use : 0;
}

static void gather_statistics(void) {
    struct statistics *s = &state.statistics;
    statistics_gather(s);
    s->system_calls = atomic_load(&linux_calls);
    s->process.objects = s->huge.mappings;
    for (unsigned i = 0; i < s->frontend.class_count; i++) {
        s->process.objects += s->frontend.classes[i].objects;
        take_objects_off(&state.small[i], &s->frontend.classes[i], state.small[i].mapped);
    }
    for (unsigned i = 0; i < s->midend.class_count; i++) {
        s->process.objects += s->midend.classes[i].objects;
        uint64_t reserved = s->midend.classes[i].slabs * mid_shapes[i].weight << JW_GRANULE_SHIFT;
        take_objects_off(&state.mid[i], &s->midend.classes[i], reserved);
    }
}

void state_gather(void) {
    memset(state.small, 0, sizeof state.small);
    memset(state.mid, 0, sizeof state.mid);
    memset(state.ranges, 0, sizeof state.ranges);
    state.run_count = state.root_count = state.spare_count = state.huge_count = 0;
    state.heap_count = heap_count() < HEAPS_MOST ? heap_count() : HEAPS_MOST - 1;
    memset(state.heaps, 0, (state.heap_count + 1) * sizeof *state.heaps);
    state.wakeups = atomic_load(&thrift_counters.wakeups);
    state.reclaimer_state = reclaimer_state();
    page_map_walk(look_at_root, NULL);
    for (uint32_t number = 1; number <= state.heap_count; number++) look_at_heap(number);
    if (state.wants_runs) look_at_huge();
    gather_statistics();
}

void state_start(void) {
    sim_set_page_size((size_t)sysconf(_SC_PAGESIZE));
    mid_shapes_start();
    state.heaps = calloc(HEAPS_MOST, sizeof *state.heaps);
    if (!state.heaps) fail("no memory");
}
