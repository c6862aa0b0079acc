/* controls_test.c - what the host sets in the core (src/core/host_controls.h), by our names and by Android's.
 *
 * TRACKS: the build can tell of objects. TAGS: the processor has memory tags, and the build uses them. CLEARED: the
 * hardened build's option zero_on_free.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "api/bionic_controls.h"
#include "check.h"
#include "config/options.h"
#include "entry_points.h"
#include "jwmalloc.h"
#include "platform/linux_call.h"
#include "platform/platform.h"
#include "platform/tags.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { THREADS = 3, ROUNDS = 20000, LIVE = 100, DISABLE_MEM_INIT = -103, ZERO_INIT = -203, ANYTHING = -1 };

static const size_t sizes[] = {1, 24, 500, 2048, 3000, 14000, 100000, 2 << 20, 6 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void run(void *(*body)(void *), void *argument) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    CHECK(pthread_join(thread, &result) == 0);
}

/* --- contents */

static void *new_objects_hold(void *byte) {
    for (int i = 0; i < SIZES; i++) {
        memset(malloc(sizes[i]), 0x5a, sizes[i]); /* one stays in use */
        unsigned char *object = malloc(sizes[i]);
        memset(object, 0x5a, sizes[i]);
        free(object);
        object = malloc(sizes[i]);
        for (size_t j = 0; *(int *)byte != ANYTHING && j < sizes[i]; j++) CHECK(object[j] == *(int *)byte);
        free(object);
        object = calloc(1, sizes[i]);
        for (size_t j = 0; j < sizes[i]; j++) CHECK(object[j] == 0);
        free(object);
    }
    return NULL;
}

static void contents_are(int byte) {
    new_objects_hold(&byte);
    run(new_objects_hold, &byte);
}

static void contents_change(void) {
#if JW_SECURE
    CHECK(jw_set_zero_contents(1) == (CLEARED ? 0 : ENOTSUP) && jw_mallopt(ZERO_INIT, 1) == CLEARED);
    CHECK(jw_set_pattern_contents(1) == ENOTSUP && jw_set_pattern_contents(0) == 0);
    contents_are(CLEARED ? 0 : ANYTHING);
    CHECK(jw_set_zero_contents(0) == 0);
#else
    CHECK(jw_set_zero_contents(1) == 0);
    contents_are(0);
    CHECK(jw_mallopt(DISABLE_MEM_INIT, 1) == 0);
    CHECK(jw_set_pattern_contents(1) == 0);
    contents_are(0xab);
    scudo_malloc_set_zero_contents(1);
    contents_are(0);
    scudo_malloc_set_pattern_fill_contents(1);
    contents_are(0xab);
    scudo_malloc_set_pattern_fill_contents(0);
    CHECK(jw_mallopt(DISABLE_MEM_INIT, 1) == 1);
    contents_are(ANYTHING);
    CHECK(jw_mallopt(ZERO_INIT, 1) == 1);
    contents_are(0);
    CHECK(jw_set_zero_contents(0) == 0 && jw_mallopt(DISABLE_MEM_INIT, 1) == 1);
#endif
}

/* --- tags and slack */

#if TAGS

enum { SET_CONTROL = 55, GET_CONTROL = 56, TAGS_OF_ALL = 0xfffe << 3 | 1, AT_ONCE = 2, LATE = 4 };

static void faults_come(int when) {
    CHECK((raw_call(SYS_prctl, ARGUMENTS(GET_CONTROL)) & (AT_ONCE | LATE)) == when);
}

/* As bionic's loader, which asks the kernel for tags before the first allocation. In a program with an argument it asks
 * for none, and the allocator hears of that first. */
void mock_before_start(long count) {
    if (count > 1) CHECK(jw_set_memory_tags(JW_TAGS_OFF) == 0);
    else CHECK(raw_call(SYS_prctl, ARGUMENTS(SET_CONTROL, TAGS_OF_ALL | LATE)) == 0);
}

static void there_were_never_tags(void) {
    faults_come(0);
    CHECK(tag_of_pointer(malloc(40)) == 0);
    CHECK(jw_set_memory_tags(JW_TAGS_SYNC) == ENOTSUP && jw_set_memory_tags(JW_TAGS_OFF) == 0);
}

#else
#define faults_come(when) (void)0
#define there_were_never_tags() (void)0
#endif

static void tags_are_as_asked_for(void) {
    faults_come(LATE);
    CHECK(jw_set_memory_tags(-1) == EINVAL && jw_set_memory_tags(3) == EINVAL);
    const char *before = malloc(40);
    CHECK((tag_of_pointer(before) != 0) == TAGS);
    for (int level = JW_TAGS_ASYNC; level <= JW_TAGS_SYNC; level++)
        CHECK(jw_set_memory_tags(level) == (TAGS ? 0 : ENOTSUP));
    scudo_malloc_disable_memory_tagging();
    CHECK(jw_set_memory_tags(JW_TAGS_OFF) == 0);
    faults_come(0);
    char *untagged = malloc(40);
    CHECK(tag_of_pointer(untagged) == 0);
    free(with_tag(before, 0)); /* a program that loses its tags */
    if (TAGS) CHECK(jw_set_memory_tags(JW_TAGS_SYNC) == 0);
    faults_come(AT_ONCE);
    char *after = malloc(40);
    CHECK((tag_of_pointer(after) != 0) == TAGS);
    untagged[39] = 1;
    free(untagged);
    free(after);
}

static void there_is_no_slack(void) {
    CHECK(jw_set_large_slack(1) == ENOTSUP && jw_set_large_slack(0) == 0);
    scudo_malloc_set_add_large_allocation_slack(1);
}

static void debuggers_find_no_records(void) {
    CHECK(__scudo_get_stack_depot_addr() == NULL && __scudo_get_stack_depot_size() == 0);
    CHECK(__scudo_get_ring_buffer_addr() == NULL && __scudo_get_ring_buffer_size() == 0);
    CHECK(__scudo_get_region_info_addr() == NULL);
}

/* --- the control group */

/* As in a child of the zygote, which has moved. Where the system has no control groups, there is none to watch. */
static void the_group_is_found_when_the_host_says_so(void) {
    struct group_memory group;
    for (int on = 1; on >= 0; on--) {
        int answer = jw_watch_group(on);
        bool watched = platform_group_memory(&group);
        CHECK(answer == (on && !watched ? ENOTSUP : 0) && option(&options.pressure) == watched);
        CHECK(on || !watched);
    }
}

/* --- objects that the host is told of: its table of those in use */

#if TRACKS

enum { RECORDS = 1 << 14, GONE = 1 };

static struct record {
    _Atomic(uintptr_t) address;
    size_t size;
} records[RECORDS];
static _Atomic(unsigned) told, untold; /* calls of each of the two */

static unsigned place_of(uintptr_t address) {
    return (unsigned)((address >> 3) * 0x9e3779b97f4a7c15u >> 50) % RECORDS;
}

static struct record *record_of(uintptr_t address) {
    for (unsigned i = 0; i < RECORDS; i++) {
        struct record *record = &records[(place_of(address) + i) % RECORDS];
        uintptr_t now = atomic_load(&record->address);
        if (now == address) return record;
        if (now == 0) return NULL;
    }
    return NULL;
}

void jw_allocated(void *object, size_t size) {
    uintptr_t address = (uintptr_t)object;
    CHECK(record_of(address) == NULL);
    for (unsigned i = 0; i < RECORDS; i++) {
        struct record *record = &records[(place_of(address) + i) % RECORDS];
        uintptr_t now = atomic_load(&record->address);
        if (now > GONE || !atomic_compare_exchange_strong(&record->address, &now, address)) continue;
        record->size = size;
        atomic_fetch_add(&told, 1);
        return;
    }
    CHECK(!"there is room");
}

void jw_freed(void *object) {
    struct record *record = record_of((uintptr_t)object);
    CHECK(record != NULL);
    atomic_store(&record->address, GONE);
    atomic_fetch_add(&untold, 1);
}

/* Since the last look the host has heard of so many objects that came and went. The object, if one is given, is in use
 * and has the size. */
static void heard(unsigned came, unsigned went, void *object, size_t size) {
    static unsigned told_before, untold_before;
    CHECK(told - told_before == came && untold - untold_before == went);
    told_before = told;
    untold_before = untold;
    const struct record *record = object ? record_of((uintptr_t)object) : NULL;
    CHECK(object == NULL || (record != NULL && record->size == size));
}

static void each_call_is_told_of_once(void) {
    void *object = malloc(0);
    heard(1, 0, object, 0);
    free(object);
    heard(0, 1, NULL, 0);
    free(NULL);
    heard(0, 0, NULL, 0);
    for (int i = 0; i < SIZES; i++) {
        object = malloc(sizes[i]);
        heard(1, 0, object, sizes[i]);
        free(object);
        object = calloc(1, sizes[i]);
        heard(1, 1, object, sizes[i]);
        jw_free_sized(object, sizes[i]);
        CHECK(posix_memalign(&object, 256, sizes[i]) == 0);
        heard(1, 1, object, sizes[i]);
        jw_free_aligned_sized(object, 256, sizes[i]);
        object = aligned_alloc(16, sizes[i]);
        heard(1, 1, object, sizes[i]);
        free(object);
        heard(0, 1, NULL, 0);
    }
    CHECK(malloc(IMPOSSIBLE_SIZE) == NULL && calloc(1, IMPOSSIBLE_SIZE) == NULL);
    heard(0, 0, NULL, 0);
}

/* One object is in use: this one. An attempt to keep it in its place may have been told of, too. */
static void only_one(void *object, size_t least, size_t most) {
    const struct record *record = record_of((uintptr_t)object);
    CHECK(told == untold + 1 && record != NULL && record->size >= least && record->size <= most);
}

/* In its place or not, within each tier and between them. One that fails is told of as it was. */
static void realloc_tells_of_both(void) {
    for (int from = 0; from < SIZES; from++) {
        for (int to = 0; to < SIZES; to++) {
            void *object = malloc(sizes[from]);
            CHECK((object = realloc(object, sizes[to])) != NULL);
            only_one(object, sizes[to], sizes[to]);
            CHECK((object = realloc(object, sizes[to] + 1)) != NULL);
            only_one(object, sizes[to] + 1, sizes[to] + 1);
            CHECK(realloc(object, IMPOSSIBLE_SIZE) == NULL);
            only_one(object, sizes[to] + 1, jw_malloc_usable_size(object));
            CHECK(realloc(object, 0) == NULL && told == untold);
        }
    }
}

/* An address that is told of is not in use: jw_allocated checks it. */
static void *use(void *seed) {
    uint64_t random = (uintptr_t)seed;
    char *objects[LIVE] = {NULL};
    for (int i = 0; i < ROUNDS; i++) {
        char **slot = &objects[random_below(&random, LIVE)];
        size_t size = random_below(&random, 40) == 0 ? sizes[random_below(&random, SIZES)] : random_below(&random, 300);
        if (*slot == NULL) *slot = malloc(size);
        else if (random_below(&random, 4) == 0) *slot = realloc(*slot, size + 1);
        else free(*slot), *slot = NULL;
    }
    for (int i = 0; i < LIVE; i++) free(objects[i]);
    return NULL;
}

static void threads_tell(void) {
    pthread_t threads[THREADS];
    void *result;
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, use, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], &result) == 0);
    CHECK(told == untold && told > ROUNDS);
}

static void a_child_tells(void) {
    int status = -1, child = fork();
    if (child == 0) {
        unsigned before = told;
        free(malloc(100));
        _exit(told == before + 1 && told == untold ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void objects_are_told_of(void) {
    void *before = malloc(100);
    CHECK(told == 0 && jw_track_objects(1) == 0);
    each_call_is_told_of_once();
    realloc_tells_of_both();
    threads_tell();
    a_child_tells();
    CHECK(jw_track_objects(0) == 0);
    unsigned calls = told;
    free(before);
    free(malloc(100));
    CHECK(told == calls && untold == calls);
    scudo_malloc_set_track_allocation_stacks(1);
    free(malloc(100));
    CHECK(told == calls + 1);
    scudo_malloc_set_track_allocation_stacks(0);
}

#else

static void objects_are_told_of(void) {
    CHECK(jw_track_objects(1) == ENOTSUP && jw_track_objects(0) == 0);
    scudo_malloc_set_track_allocation_stacks(1);
}

#endif

/* Each call of the table exists, and is served. */
static void all_are_there(void) {
#define CONTROL(name, ours, meaning, core, hardened) CHECK((void *)name != NULL && (void *)ours != NULL);
#define WITHOUT(name, meaning, instead)
#include "core/host_controls.def"
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) {
        there_were_never_tags();
        return 0;
    }
    all_are_there();
    contents_change();
    tags_are_as_asked_for();
    there_is_no_slack();
    debuggers_find_no_records();
    the_group_is_found_when_the_host_says_so();
    objects_are_told_of();
    return 0;
}
