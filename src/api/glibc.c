/* glibc.c - for statistics and tuning: malloc_trim, mallinfo, malloc_info, malloc_stats, mallopt. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "api/bionic_info.h"
#include "api/mallopt.h"
#include "api/override.h"
#include "api/serve.h"
#include "backend/reclaimer.h"
#include "backend/thrift.h"
#include "base/compiler.h"
#include "config/options.h"
#include "core/allocator.h"
#include "insight/statistics.h"
#include "jwmalloc.h"
#include "platform/platform.h"

static void write_to_stream(void *cookie, const char *text, size_t length) {
    fwrite(text, 1, length, cookie);
}

static void write_to_error(void *cookie, const char *text, size_t length) {
    (void)cookie;
    platform_write(text, length);
}

/* Gives back the calling thread's unused memory, then all free memory. */
static bool give_all_back(void) {
    serve_drain();
    return thrift_purge() > 0;
}

JW_EXPORT int jw_malloc_trim(size_t pad) {
    (void)pad;
    return give_all_back();
}

JW_EXPORT struct jw_mallinfo2 jw_mallinfo2(void) {
    struct statistics s;
    statistics_gather(&s);
    size_t ranges = 0;
    for (unsigned i = 0; i < s.backend.class_count; i++)
        ranges += (size_t)(s.backend.classes[i].mapped_ranges + s.backend.classes[i].unmapped_ranges);
    uint64_t arena = s.backend.in_use + s.backend.cached_mapped + s.backend.cached_unmapped;
    return (struct jw_mallinfo2){
        .arena = (size_t)arena,
        .ordblks = ranges,
        .hblks = (size_t)s.huge.mappings,
        .hblkhd = (size_t)s.huge.bytes,
        .uordblks = (size_t)(s.objects + s.huge.bytes),
        .fordblks = (size_t)(arena > s.objects ? arena - s.objects : 0),
        .keepcost = (size_t)s.backend.cached_mapped,
    };
}

static int to_int(size_t value) {
    return value < INT_MAX ? (int)value : INT_MAX;
}

JW_EXPORT struct jw_mallinfo jw_mallinfo(void) {
    struct jw_mallinfo2 wide = jw_mallinfo2();
    return (struct jw_mallinfo){
        .arena = to_int(wide.arena),
        .ordblks = to_int(wide.ordblks),
        .hblks = to_int(wide.hblks),
        .hblkhd = to_int(wide.hblkhd),
        .uordblks = to_int(wide.uordblks),
        .fordblks = to_int(wide.fordblks),
        .keepcost = to_int(wide.keepcost),
    };
}

JW_EXPORT int jw_malloc_info(int options_must_be_zero, FILE *stream) {
    if (options_must_be_zero != 0) return EINVAL;
    char data[1024];
    struct print_buffer out = {.data = data, .size = sizeof data, .sink = write_to_stream, .cookie = stream};
    struct statistics statistics;
    statistics_gather_report(&statistics);
#if JW_BIONIC
    bionic_print_info(&out, &statistics);
#else
    statistics_print_xml(&out, &statistics);
#endif
    print_flush(&out);
    return ferror(stream) ? EIO : 0;
}

JW_EXPORT void jw_malloc_stats(void) {
    jw_stats_print(write_to_error, NULL, JW_STATS_TEXT);
}

JW_EXPORT void jw_stats_print(jw_write_function *write, void *cookie, unsigned flags) {
    char data[1024];
    struct print_buffer out = {.data = data, .size = sizeof data, .sink = write, .cookie = cookie};
    struct statistics statistics;
    statistics_gather_report(&statistics);
    if (flags & JW_STATS_JSON) statistics_print_json(&out, &statistics);
    else statistics_print_text(&out, &statistics);
    print_flush(&out);
}

JW_EXPORT void jw_options_print(jw_write_function *write, void *cookie) {
    char data[1024];
    struct print_buffer out = {.data = data, .size = sizeof data, .sink = write, .cookie = cookie};
    options_print(&out);
    print_flush(&out);
}

JW_EXPORT const char *jw_version(void) {
    return JW_VERSION;
}

/* Android's values are three times: soon, usual, late. */
static int set_decay_time(int value) {
    if (value < -1 || value > 1) return 0;
    const struct options *source = value == 0 ? &least_options : value == 1 ? &default_options : &most_options;
    atomic_store_explicit(&options.reclaim_interval, source->reclaim_interval, memory_order_relaxed);
    if (value == 0) give_all_back();
    return 1;
}

JW_EXPORT int jw_reclaim_pause(void) {
    if (!allocator_start()) return ENOMEM;
    reclaimer_pause();
    return 0;
}

JW_EXPORT void jw_reclaim_resume(void) {
    if (allocator_start()) reclaimer_resume();
}

static int set_reclaim_thread(int value) {
    if (value == 0) return jw_reclaim_pause() == 0;
    if (value == 1) jw_reclaim_resume();
    return value == 1;
}

JW_EXPORT int jw_mallopt(int parameter, int value) {
    /* glibc's numbers, as not every system has its header. We have no such thresholds and arenas to tune. */
    enum {
        MXFAST = 1,
        TRIM_THRESHOLD = -1,
        TOP_PAD = -2,
        MMAP_THRESHOLD = -3,
        MMAP_MAX = -4,
        ARENA_TEST = -7,
        ARENA_MAX = -8,
        CHECK_ACTION = -5,
        PERTURB = -6,
        ANDROID_LOG_STATS = -205,
        OPENHARMONY_FLUSH_THREAD_CACHE = -1002
    };
    switch (parameter) {
    case JW_M_PURGE:
    case JW_M_PURGE_ALL: give_all_back(); return 1;
    case JW_M_DECAY_TIME: return set_decay_time(value);
    case JW_M_RECLAIM_THREAD: return set_reclaim_thread(value);
    case MXFAST:
    case TRIM_THRESHOLD:
    case TOP_PAD:
    case MMAP_THRESHOLD:
    case MMAP_MAX:
    case ARENA_TEST:
    case ARENA_MAX:
    case CHECK_ACTION: return 1;
    case PERTURB: return value == 0; /* objects are never filled on request */
    case ANDROID_LOG_STATS: jw_malloc_stats(); return 1;
    case OPENHARMONY_FLUSH_THREAD_CACHE: serve_drain(); return 1;
    default: return platform_parameter_holds(parameter, value);
    }
}

OVERRIDES(malloc_trim, jw_malloc_trim);
OVERRIDES(mallinfo2, jw_mallinfo2);
#if JW_BIONIC
OVERRIDES(mallinfo, jw_mallinfo2); /* bionic's two structures are the same */
#else
OVERRIDES(mallinfo, jw_mallinfo);
#endif
OVERRIDES(malloc_info, jw_malloc_info);
OVERRIDES(malloc_stats, jw_malloc_stats);
OVERRIDES(mallopt, jw_mallopt);
