/* seal_test.c - after a seal nothing is written to the sealed roots, nor to their words and records: frees, rounds and
 * purges run while all of it is read-only (core/sealed.h). */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "backend/mapping_cache.h"
#include "backend/watermark.h"
#include "base/align.h"
#include "core/allocator.h"
#include "core/describe.h"
#include "core/iterate.h"
#include "core/seal_roots.h"
#include "core/sealed.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/heap_table.h"
#include "frontend/suspect.h"
#include "frontend/thread_heap.h"

enum { MANY = 4000, SIZES = 10, ALIGNMENT = 16 * GRANULE_SIZE, OTHERS = 9 };
static const size_t sizes[SIZES] = {8, 16, 48, 200, 2000, 3000, 9000, 14000, 20000, 150000};
static void *objects[MANY];

static void forbid(const void *start, size_t size) {
    size_t page = platform_page_size();
    uintptr_t from = align_up((uintptr_t)start, page), to = align_down((uintptr_t)start + size, page);
    for (; from < to; from += page) /* parts of the first root are not mapped */
        CHECK(mprotect((void *)from, page, PROT_READ) == 0 || errno == ENOMEM);
}

/* Where OS pages are those of the tables: a granule's words are 4 B, its record 64 B. */
static unsigned forbid_sealed(void) {
    unsigned roots = 0;
    uint32_t slot = 0;
    for (granule_id root; (root = page_map_next(&slot, true)); roots++) {
        forbid(page_map_sealed_root(root), ROOT_SIZE);
        forbid(&page_map.leaf[root], ROOT_GRANULES * sizeof(table_word));
        forbid(&page_map.node[root], ROOT_GRANULES * sizeof(table_word));
        forbid(&page_map.link[root], ROOT_GRANULES * sizeof(table_word));
        forbid(record_at(root), ROOT_GRANULES * RECORD_SIZE);
    }
    return roots;
}

static void make_objects(void) {
    for (int i = 0; i < MANY; i++) {
        bool aligned = i % 8 == 0 && sizes[i % SIZES] >= BACKEND_MIN; /* it may begin inside its range */
        objects[i] = aligned ? allocate_aligned(ALIGNMENT, sizes[i % SIZES]) : jw_malloc(sizes[i % SIZES]);
        CHECK(objects[i] != NULL);
    }
    for (int i = 0; i < MANY; i += 3) {
        jw_free(objects[i]);
        objects[i] = NULL;
    }
}

static void count(uintptr_t object, size_t size, void *bytes) {
    (void)object;
    *(size_t *)bytes += size;
}

static void use(void) {
    make_objects();
    thrift_purge();
    for (int i = 0; i < MANY; i++) jw_free(objects[i]);
    heap_drain_own();
    thrift_purge();
}

/* Of a sealed root all granules are told of; those that no object has are free memory. */
static void describe_all(const void *sealed) {
    unsigned of_objects = 0, free_memory = 0;
    const char *root = (const char *)align_down((uintptr_t)sealed, ROOT_SIZE); // NOLINT(performance-no-int-to-ptr)
    for (size_t at = 0; at < ROOT_SIZE; at += GRANULE_SIZE) {
        struct found found;
        describe(root + at, &found);
        if (found.state == FOUND_FREE_MEMORY) free_memory++;
        else if (found.state == FOUND_IN_USE || found.state == FOUND_FREE || found.state == FOUND_INSIDE) of_objects++;
    }
    CHECK(of_objects > 0 && free_memory > 0 && of_objects + free_memory == ROOT_GRANULES);
}

static void free_sealed(void) {
    void *sealed[MANY];
    struct found found;
    memcpy(sealed, objects, sizeof sealed);
    use();
    for (int i = 0; i < MANY; i++) {
        if (!sealed[i]) continue;
        describe(sealed[i], &found);
        CHECK(found.state == FOUND_IN_USE && found.size == object_size(sealed[i]) && found.size >= sizes[i % SIZES]);
        describe((char *)sealed[i] + 1, &found);
        CHECK(found.state == FOUND_INSIDE);
        if (i == 1) describe_all(sealed[i]); /* the first one */
        jw_free(sealed[i]);
        describe(sealed[i], &found);
        CHECK(found.state == FOUND_FREE && size_if_live(sealed[i]) == 0);
    }
    CHECK(sealed_bytes() == 0);
    use();
}

/* What was freed of an object that began inside its range is told with its size. */
static void an_aligned_object_leaves_its_size(void **state) {
    (void)state;
    struct found found;
    void *aligned[8];
    unsigned inside = 0;
    for (unsigned i = 0; i < 8; i++) CHECK((aligned[i] = allocate_aligned(ALIGNMENT, (5 + i) * GRANULE_SIZE)) != NULL);
    for (unsigned i = 0; i < 8; i++) {
        size_t size = object_size(aligned[i]);
        bool is_inside = granule_start(granule_of(aligned[i])) != granule_of(aligned[i]);
        jw_free(aligned[i]);
        if (!is_inside) continue;
        inside++;
        describe(aligned[i], &found);
        CHECK(found.state == FOUND_FREE && found.tier == TIER_LARGE && found.size == size);
    }
    CHECK(inside > 0);
}

static pthread_barrier_t all_run;

static void *wait_for_all(void *unused) {
    (void)unused;
    pthread_barrier_wait(&all_run);
    pthread_barrier_wait(&all_run);
    return NULL;
}

/* Ten threads are not one. */
static void only_a_program_of_one_thread_seals(void **state) {
    (void)state;
    pthread_t others[OTHERS];
    pthread_barrier_init(&all_run, NULL, OTHERS + 1);
    for (unsigned i = 0; i < OTHERS; i++) CHECK(pthread_create(&others[i], NULL, wait_for_all, NULL) == 0);
    pthread_barrier_wait(&all_run);
    void *object = jw_malloc(sizes[0]);
    CHECK(seal_roots() == EBUSY && sealed_bytes() == 0);
    jw_free(object);
    pthread_barrier_wait(&all_run);
    for (unsigned i = 0; i < OTHERS; i++) CHECK(pthread_join(others[i], NULL) == 0);
}

/* Whatever a heap had, nothing of it may lead to a sealed root. It stays the heap of its number and key. */
static void forget_all(void) {
    jw_free(jw_malloc(1));
    struct heap *heap = heap_take_or_create();
    CHECK(heap);
    uint32_t number = heap->number;
    uint64_t key = heap->key;
    memset(heap->local, 1, offsetof(struct heap, abandoned_next));
    memset(&heap->pool, 1, offsetof(struct heap, number) - offsetof(struct heap, pool));
    memset(heap->mid_caches, 1, sizeof *heap - offsetof(struct heap, mid_caches));
    heap->cache_states = heap->reopened_taken = 1;
    heap->wants_slabs = true;
    heaps_forget_sealed();
    CHECK(heap->number == number && heap->key == key && heap->in_use_count == 0 && pool_is_empty(&heap->pool));
    CHECK(heap->cache_states == 0 && !heap_has_reopened(heap));
    CHECK(!heap->wants_slabs && !heap_has_suspects(heap));
    for (unsigned i = 0; i < MID_CACHES; i++) CHECK(!heap->mid_caches[i].cached && !heap->mid_caches[i].held_bytes);
    CHECK(range_cache_granules(&heap->range_cache) == 0);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
        CHECK(link_is_end(heap->local[class].first) && !heap->current[class]);
}

static void a_heap_forgets_what_is_sealed(void **state) {
    (void)state;
    run_in_child(forget_all);
}

/* A slab that another thread was giving back when this process was forked: a slab by its leaf, none by its key. */
static void seal_with_a_slab_half_gone(void) {
    struct found found;
    jw_free(jw_malloc(1));
    struct heap *own = thread_heap(), *other = heap_take_or_create();
    CHECK(other);
    heap_enter(other);
    void *object = jw_malloc(sizes[2]);
    heap_enter(own);
    CHECK(object);
    slab_clear_key(slab_of(object));
    if (seal_roots() == EBUSY) return; /* a sanitizer has a thread */
    CHECK(page_map_is_sealed(object));
    describe(object, &found);
    CHECK(found.state == FOUND_FREE_MEMORY && found.tier == TIER_NONE);
}

static void what_is_no_slab_any_more_is_free_memory(void **state) {
    (void)state;
    run_in_child(seal_with_a_slab_half_gone);
}

static void nothing_is_written(void **state) {
    (void)state;
    int error = 0;
    make_objects();
    const struct heap *heap = thread_heap();
    CHECK(heap->in_use_count > 0);
    size_t tables_have = 0; /* and the heaps */
    for (int times = 0; times < 2 && error == 0; times++) {
        size_t before = 0, after = 0;
        CHECK(iterate_objects(0, SIZE_MAX, count, &before));
        watermark_note_peak();
        if (times == 0) tables_have = other_bytes_in_use();
        error = seal_roots();
        CHECK(error || watermark_rises((struct usage){0}, 1)); /* the peak was of what is sealed */
        CHECK(iterate_objects(0, SIZE_MAX, count, &after));
        CHECK(before == after && (error || sealed_bytes() == after));
        /* what counts in the limits: the heaps, and no table of a sealed root */
        size_t heaps_have = heap_count() * sizeof(struct heap);
        CHECK(times > 0 || tables_have > heaps_have);
        CHECK(error || other_bytes_in_use() == heaps_have);
        CHECK(error || limits_committed() == heaps_have + mapping_cache_bytes() + huge_bytes_in_use());
    }
    if (error == EBUSY) skip(); /* a sanitizer has a thread */
    CHECK(error == 0 && root_count() == 0 && free_granules(MAPPED) == 0 && free_granules(UNMAPPED) == 0);
    CHECK(heap->in_use_count == 0 && pool_is_empty(&heap->pool)); /* its slabs are none of its own any more */
    CHECK(forbid_sealed() > 0);
    free_sealed();
    CHECK(root_count() <= 1 && limits_committed() <= ROOT_SIZE * 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_aligned_object_leaves_its_size),
        cmocka_unit_test(a_heap_forgets_what_is_sealed),
        cmocka_unit_test(only_a_program_of_one_thread_seals),
        cmocka_unit_test(what_is_no_slab_any_more_is_free_memory),
        cmocka_unit_test(nothing_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
