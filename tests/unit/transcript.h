/* transcript.h - writes what the allocator asks of the simulated platform in each step of a script, and which of its
 * counts the step has changed.
 *
 *     step (name)                      one line of a script
 *         > map 4096K, 3 discard 16K   calls of the platform, in their order
 *         count = value ...            each count that is another one than before the step
 *
 * `places` sums up where the objects of the step lie; not in a fork's child, which chooses them at random. The objects
 * of the program must be those that iterate_objects finds. */
#ifndef JW_TESTS_TRANSCRIPT_H
#define JW_TESTS_TRANSCRIPT_H

#include <stdlib.h>

#include "heap_players.h"
#include "transcript_state.h"

#include "backend/backend.h"
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "backend/thrift_counters.h"
#include "core/iterate.h"
#include "frontend/heap_statistics.h"
#include "frontend/remote_work.h"
#include "midend/midend.h"
#if JW_SECURE
#include "hardened/quarantine_ring.h"
#include "hardened/regions.h"
#endif

enum { TEXT_MOST = 1 << 20, COUNTS_MOST = 4096, COLUMNS = 110, NAME_MOST = 32, CALL_MOST = 48, WAITS_MOST = 10000 };

static struct transcript {
    char text[TEXT_MOST];
    size_t length;
    char call[CALL_MOST];
    unsigned column, repeats, calls;
    uint64_t places;
    uintptr_t base;
    bool records, sums; /* sums: a step's words are only added up */
    bool too_early;     /* a thread is on the stack of the next one */
    uint32_t sum;
    unsigned waits, waits_left; /* waits_left 0: nothing happens after a wait */
    void (*after_waits)(void);
    void (*within)(void); /* what another thread does within each call of the platform */
    struct {
        char name[NAME_MOST];
        uint64_t value;
    } counts[COUNTS_MOST];
    unsigned count, next; /* next: the place where the next count probably is */
} transcript;

#if JW_SECURE
#include <sys/personality.h>

/* Begins the program anew without random addresses, if it may. Some codes of the hardened build are short, so one run
 * in a hundred may differ by chance. */
static void fix_addresses(char **arguments) {
    int now = personality(0xffffffff);
    if (now != -1 && !(now & ADDR_NO_RANDOMIZE) && personality((unsigned long)now | ADDR_NO_RANDOMIZE) != -1)
        execv("/proc/self/exe", arguments);
}
#else
static inline void fix_addresses(char **arguments) {
    (void)arguments;
}
#endif

/* --- Text ------------------------------------------------------------------------------------------------------- */

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(transcript.text + transcript.length, TEXT_MOST - transcript.length, format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && transcript.length + (size_t)length < TEXT_MOST);
    transcript.length += (size_t)length;
}

/* One word of a list that goes on in the next line where a line is full. */
static void say_word(const char *word, const char *indent) {
    size_t length = strlen(word) + 1;
    for (unsigned i = 0; i < length && transcript.sums; i++) transcript.sum = transcript.sum * 31 + (uint8_t)word[i];
    if (transcript.sums) return;
    if (transcript.column == 0 || transcript.column + length > COLUMNS) {
        say("\n%s", indent);
        transcript.column = (unsigned)strlen(indent);
    }
    say(" %s", word);
    transcript.column += (unsigned)length;
}

/* --- Calls of the platform -------------------------------------------------------------------------------------- */

static void end_call(void) {
    char word[CALL_MOST + 16];
    if (transcript.repeats == 0) return;
    if (transcript.repeats == 1) snprintf(word, sizeof word, "%s", transcript.call);
    else snprintf(word, sizeof word, "%u*%s", transcript.repeats, transcript.call);
    say_word(word, transcript.calls++ == 0 ? "    >" : "     ");
    transcript.repeats = 0;
}

/* Called first in each call of the platform. */
static void look(const void *address) {
    if (transcript.records && transcript.sums) look_from_inside(address);
    if (transcript.records && transcript.within) transcript.within();
}

static void note_call(const char *name, size_t size, bool done) {
    char call[CALL_MOST];
    if (!transcript.records) return;
    if (size == 0) snprintf(call, sizeof call, "%s%s", name, done ? "" : ":refused");
    else if (size % 1024 > 0) snprintf(call, sizeof call, "%s:%zu%s", name, size, done ? "" : ":refused");
    else snprintf(call, sizeof call, "%s:%zuK%s", name, size / 1024, done ? "" : ":refused");
    if (strcmp(call, transcript.call) != 0) end_call();
    memcpy(transcript.call, call, sizeof call);
    transcript.repeats++;
}

#define WRAPPED(type, name, parameters, arguments, address, word, size, done)                                          \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        look(address);                                                                                                 \
        type result = __real_##name arguments;                                                                         \
        note_call(word, size, done);                                                                                   \
        return result;                                                                                                 \
    }

WRAPPED(void *, platform_reserve_readable, (size_t size, const char *name), (size, name), NULL, "records", size, result)
WRAPPED(wide_bool, platform_unmap, (void *address, size_t size), (address, size), address, "unmap", size, result)
WRAPPED(wide_bool, platform_discard, (void *address, size_t size), (address, size), address, "discard", size, result)
WRAPPED(bool, platform_protect, (void *address, size_t size, bool accessible), (address, size, accessible), address,
        accessible ? "protect" : "close", size, result)
WRAPPED(bool, platform_resize, (void *address, size_t old, size_t new), (address, old, new), address, "resize", new,
        result)
WRAPPED(enum platform_moved, platform_move, (void *from, void *to, size_t size, size_t room), (from, to, size, room),
        from, "move", size, result == MOVED)
WRAPPED(enum platform_reserved, platform_reserve_at, (void *address, size_t size, bool writes, const char *name),
        (address, size, writes, name), address, "map-at", size, result == RESERVED)

void *__real_platform_reserve(size_t size, size_t alignment, const char *name);
void *__wrap_platform_reserve(size_t size, size_t alignment, const char *name);
void *__wrap_platform_reserve(size_t size, size_t alignment, const char *name) {
    look(NULL);
    void *result = __real_platform_reserve(size, alignment, name);
    if (!transcript.base) state_base = transcript.base = (uintptr_t)result;
    note_call("map", size, result);
    return result;
}

void __real_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    look(NULL);
    __real_platform_futex_wait(word, expected, milliseconds);
    note_call("wait-ms", milliseconds, true);
    CHECK(++transcript.waits < WAITS_MOST); /* nobody comes */
    if (transcript.waits_left > 0 && --transcript.waits_left == 0) transcript.after_waits();
}

void __real_platform_futex_wake(_Atomic(uint32_t) *word);
void __wrap_platform_futex_wake(_Atomic(uint32_t) *word);
void __wrap_platform_futex_wake(_Atomic(uint32_t) *word) {
    look(NULL);
    __real_platform_futex_wake(word);
    note_call("wake", 0, true);
}

enum platform_start __real_platform_thread_start(void (*body)(void));
enum platform_start __wrap_platform_thread_start(void (*body)(void));
enum platform_start __wrap_platform_thread_start(void (*body)(void)) {
    look(NULL);
    enum platform_start result = transcript.too_early ? START_TOO_EARLY : __real_platform_thread_start(body);
    note_call("start", 0, result == START_STARTED);
    return result;
}

void __real_platform_threads_gone(bool entirely);
void __wrap_platform_threads_gone(bool entirely);
void __wrap_platform_threads_gone(bool entirely) {
    look(NULL);
    __real_platform_threads_gone(entirely);
    note_call(entirely ? "gone" : "off-stack", 0, true);
}

void __real_platform_huge_pages(void *address, size_t size, bool wanted);
void __wrap_platform_huge_pages(void *address, size_t size, bool wanted);
void __wrap_platform_huge_pages(void *address, size_t size, bool wanted) {
    look(address);
    __real_platform_huge_pages(address, size, wanted);
    note_call(wanted ? "huge" : "no-huge", size, true);
}

/* --- Counts ----------------------------------------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3))) count_is(uint64_t value, const char *format, ...) {
    char name[NAME_MOST], word[NAME_MOST + 24];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    unsigned i = transcript.next;
    if (i >= transcript.count || strcmp(transcript.counts[i].name, name) != 0)
        for (i = 0; i < transcript.count && strcmp(transcript.counts[i].name, name) != 0; i++)
            ;
    transcript.next = i + 1;
    if (i == transcript.count) {
        CHECK(transcript.count++ < COUNTS_MOST);
        memcpy(transcript.counts[i].name, name, sizeof name);
    }
    if (transcript.counts[i].value == value) return;
    transcript.counts[i].value = value;
    snprintf(word, sizeof word, value % 1024 == 0 && value > 0 ? "%s=%lldK" : "%s=%lld", name,
             (long long)(value % 1024 == 0 ? (int64_t)value / 1024 : (int64_t)value));
    say_word(word, "    ");
}

static void count_reclaimer(void) {
    count_is(reclaimer_lives(), "lives");
    count_is(reclaimer_stopped_briefly(), "brief");
    count_is(reclaimer_state(), "state");
    count_is(reclaimer_is_asked(), "asked");
    count_is(reclaimer_sleeps(), "sleeps");
    count_is(atomic_load(&reclaimer->wakeup), "woken");
    count_is(atomic_load(&reclaimer->in_round), "turn");
    count_is(reclaimer_must_end(), "paused");
    count_is(reclaimer_works_over(), "works");
    count_is(reclaimer_is_at_work(), "working");
    count_is(atomic_load(&thrift_counters.asks), "asks");
    count_is(atomic_load(&thrift_counters.wakeups), "wakeups");
}

static void count_backend(void) {
    static struct backend_statistics s;
    struct huge_statistics huge;
    backend_statistics(&s);
    heap_subtract_cached_ranges(&s);
    huge_statistics(&huge);
    count_is(s.roots, "roots");
    count_is(root_spares(), "spares");
    count_is(s.in_use, "in_use");
    count_is(s.cached_mapped, "mapped");
    count_is(s.cached_unmapped, "unmapped");
    count_is(s.given_back, "given");
    count_is(s.rounds, "rounds");
    count_is(s.deferred, "deferred");
    count_is(s.rolled_back, "rolled");
    count_is(s.sync_reclaims, "sync");
    count_is(s.metadata, "tables");
    for (unsigned i = 0; i < s.class_count; i++) {
        count_is(s.classes[i].mapped_ranges, "m%u", (unsigned)s.classes[i].granules);
        count_is(s.classes[i].unmapped_ranges, "u%u", (unsigned)s.classes[i].granules);
    }
    count_is(huge.mappings, "huge");
    count_is(huge.bytes, "huge_bytes");
    count_is(huge.mapped_total, "huge_total");
    count_is(mapping_cache_bytes(), "waiting");
    count_is(limits_committed(), "committed");
    count_is(sim_reserved(), "reserved");
    count_reclaimer();
}

static void count_classes(const char *name, const struct slab_class_statistics *classes, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        count_is(classes[i].slabs, "%s%u", name, (unsigned)classes[i].size);
        count_is(classes[i].objects, "%s%u.in", name, (unsigned)classes[i].size);
    }
}

static uint64_t sum_of(const void *bytes, size_t size) {
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) sum = sum * 31 + ((const uint8_t *)bytes)[i];
    return sum % 10000;
}

#if JW_SECURE
static void count_ring(unsigned heap, const char *name, const struct large_ring *ring) {
    count_is(ring ? ring->count : 0, "h%u.%s", heap, name);
    count_is(ring ? ring->bytes : 0, "h%u.%s.bytes", heap, name);
    count_is(ring ? ring->most : 0, "h%u.%s.most", heap, name);
}

/* What waits in the quarantine of the heap, and the places of the next objects to leave. */
static void count_quarantine(const struct heap *heap) {
    const struct quarantine *quarantine = heap->quarantine;
    unsigned n = heap->number, ready = 0;
    uint64_t places = 0;
    uint32_t head = quarantine ? quarantine->head : 0, newest = quarantine ? quarantine_newest(quarantine) : 0;
    for (unsigned i = 0; quarantine && i < SIZE_CLASS_COUNT; i++)
        ready += (unsigned)(quarantine->of[i].ready - &quarantine->ready[i][READY_ENDS - 1]);
    for (uint32_t i = head; i != newest;)
        places = places * 31 + (uintptr_t)entry_object(quarantine->ring[++i & quarantine->mask]) - transcript.base;
    count_is(newest - head, "h%u.waiting", n);
    count_is(places % 10000, "h%u.order", n);
    count_is(quarantine ? (uint64_t)quarantine_left(quarantine) : 0, "h%u.fits", n);
    count_is(quarantine ? quarantine->mask : 0, "h%u.mask", n);
    count_is(ready, "h%u.ready", n);
    count_ring(n, "emptied", quarantine ? &quarantine->large.emptied : NULL);
    count_ring(n, "kept", quarantine ? &quarantine->large.kept : NULL);
}

static void count_regions(void) {
    count_is(unused_bytes[false], "unused");
    count_is(unused_bytes[true], "unused.given");
}
#else
static void count_quarantine(const struct heap *heap) {
    (void)heap;
}

static void count_regions(void) {
}
#endif

static void count_heap(struct heap *heap) {
    unsigned n = heap->number;
    uint16_t budgets[SIZE_CLASS_COUNT], lists[SIZE_CLASS_COUNT];
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        budgets[i] = heap->local[i].budget;
        lists[i] = (uint16_t)list_length(heap->local[i].first);
    }
    count_is(heap->in_use_count, "h%u", n);
    count_is(heap->pool.count, "h%u.pool", n);
    count_is(heap->pool.unused, "h%u.unused", n);
    count_is(heap->pool.least, "h%u.least", n);
    count_is(heap->maintenance_ticks, "h%u.ticks", n);
    count_is(heap->collected_class, "h%u.collected", n);
    count_is((uint32_t)heap->cache_states, "h%u.halved", n);
    count_is((uint32_t)(heap->cache_states >> 32), "h%u.closed", n);
    count_is(heap->generation, "h%u.generation", n);
    count_is(heap->wants_slabs, "h%u.wants", n);
    count_is(heap->shortage.skipped, "h%u.skipped", n);
    count_is(heap->suspect_count, "h%u.suspects", n);
    count_is(heap->thread != 0, "h%u.thread", n);
    count_is(heap->abandoned, "h%u.abandoned", n);
    count_is(heap_has_reopened(heap), "h%u.reopened", n);
    count_is(sum_of(heap->size_map, sizeof heap->size_map), "h%u.map", n);
    count_is(sum_of(heap->budget, sizeof heap->budget), "h%u.budgets", n);
    count_is(sum_of(budgets, sizeof budgets), "h%u.left", n);
    count_is(sum_of(lists, sizeof lists), "h%u.lists", n);
    for (unsigned i = 0; i < MID_CACHES; i++) {
        struct mid_cache *cache = &heap->mid_caches[i];
        count_is(cache->class_plus_1, "h%u.c%u", n, i);
        count_is(cache->held_bytes, "h%u.c%u.held", n, i);
        count_is(cache->room, "h%u.c%u.room", n, i);
        count_is(cache->cached != NULL, "h%u.c%u.cached", n, i);
        count_is(cache->misses_left, "h%u.c%u.misses", n, i);
    }
    count_is(range_cache_granules(&heap->range_cache), "h%u.ranges", n);
    count_is((uint64_t)heap->range_cache.room, "h%u.room", n);
    count_is((uint64_t)heap->range_cache.most, "h%u.most", n);
    count_is((uint64_t)heap->range_cache.quiet_room, "h%u.quiet", n);
    count_is(heap->range_cache.pushes, "h%u.pushes", n);
    count_quarantine(heap);
}

static void count_all(void) {
    static struct frontend_statistics small;
    static struct midend_statistics mid;
    frontend_statistics(&small);
    midend_statistics(thread_heap()->mid_caches, &mid);
    heap_subtract_cached_objects(&mid);
    count_backend();
    count_is(mid.in_use, "mid.in");
    count_is(mid.reserved, "mid.of");
    count_classes("mid", mid.classes, mid.class_count);
    count_is(small.in_use, "small.in");
    count_is(small.reserved, "small.of");
    count_is(small.given_back, "small.given");
    count_is(small.pooled_slabs, "pooled");
    count_is(small.heaps, "heaps");
    count_is(small.abandoned_heaps, "ended");
    count_classes("s", small.classes, small.class_count);
    count_is(remote_work_count(), "remote");
    count_regions();
    for (uint32_t number = 1; number <= heap_count(); number++) count_heap(heap_by_number(number));
}

/* --- Steps ------------------------------------------------------------------------------------------------------ */

static void begin_step(const char *name) {
    say("%s", name);
    transcript.column = transcript.calls = 0;
    transcript.places = state_sum = 0;
    transcript.call[0] = '\0';
    transcript.records = true;
}

static void note_place(const void *object) {
    transcript.places = transcript.places * 31 + ((uintptr_t)object - transcript.base);
}

static void end_step(void) {
    end_call();
    transcript.records = false;
    transcript.column = 0;
    if (transcript.places && !thread_heap()->generation) count_is(transcript.places % 100000 + 1, "places");
    count_all();
    if (transcript.sums) look_at_all();
    if (transcript.sums) say(" %u", (transcript.sum ^ (uint32_t)state_sum) % 1000000);
    else say("\n");
}

/* With JW_TRANSCRIPT=file: writes it. Else compares it with the file, and tells the first line that differs. */
static void compare_with(const char *path) {
    const char *target = getenv("JW_TRANSCRIPT");
    FILE *file = fopen(target ? target : path, target ? "w" : "r");
    CHECK(file);
    if (target) {
        CHECK(fwrite(transcript.text, 1, transcript.length, file) == transcript.length && fclose(file) == 0);
        return;
    }
    char line[256], step[256] = "";
    const char *at = transcript.text;
    while (fgets(line, sizeof line, file)) {
        size_t length = strlen(line);
        if (line[0] != ' ') memcpy(step, line, sizeof step);
        if (strncmp(at, line, length) != 0)
            dprintf(STDERR_FILENO, "in step %swanted %sgot    %.*s\n", step, line, (int)strcspn(at, "\n"), at);
        CHECK(strncmp(at, line, length) == 0);
        at += length;
    }
    CHECK(*at == '\0' && fclose(file) == 0);
}

#endif
