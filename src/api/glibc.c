/* glibc.c - statistics and trimming: malloc_trim, mallinfo, malloc_info, malloc_stats, and jw_ functions like them;
 * jemalloc's malloc_stats_print. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "api/bionic_info.h"
#include "api/override.h"
#include "api/serve.h"
#include "backend/reclaimer.h"
#include "backend/thrift.h"
#include "base/compiler.h"
#include "config/options.h"
#include "core/allocator.h"
#include "core/iterate.h"
#include "core/limit.h"
#include "core/purge.h"
#include "core/realtime.h"
#include "core/seal_roots.h"
#include "frontend/disable.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/thread_heap.h"
#include "jwmalloc.h"
#include "platform/platform.h"
#include "platform/tool.h"
#include "statistics/statistics.h"

static void write_to_stream(void *cookie, const char *text, size_t length) {
    fwrite(text, 1, length, cookie);
}

static void write_to_error(void *cookie, const char *text, size_t length) {
    (void)cookie;
    platform_write(text, length);
}

/* Gives back the calling thread's unused memory, then all free memory. */
JW_EXPORT int jw_malloc_trim(size_t pad) {
    (void)pad;
    serve_drain();
    return thrift_trim() > 0;
}

JW_EXPORT size_t jw_purge(int level, unsigned long max_us) {
    return level < 0 || level >= PURGE_LEVELS ? 0 : purge_for((enum purge_level)level, max_us);
}

JW_EXPORT jw_limit_function *jw_on_limit(jw_limit_function *callback) {
    return limit_register(callback);
}

JW_EXPORT int jw_malloc_iterate(uintptr_t base, size_t size, void (*callback)(uintptr_t base, size_t size, void *arg),
                                void *arg) {
    if (iterate_objects(base, size, callback, arg)) return 0;
    errno = JW_SECURE || replaced_by_tool() ? ENOTSUP : EAGAIN;
    return -1;
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

JW_EXPORT struct jw_mallinfo jw_mallinfo(void) {
    struct jw_mallinfo2 wide = jw_mallinfo2();
    struct jw_mallinfo narrow;
    const size_t *from = (const size_t *)&wide;
    int *to = (int *)&narrow;
    for (size_t i = 0; i < sizeof narrow / sizeof *to; i++) to[i] = from[i] < INT_MAX ? (int)from[i] : INT_MAX;
    return narrow;
}

_Static_assert(sizeof(struct jw_mallinfo2) / sizeof(size_t) == sizeof(struct jw_mallinfo) / sizeof(int),
               "both have the same numbers in the same order");

JW_EXPORT int jw_malloc_info(int options_must_be_zero, FILE *stream) {
    if (options_must_be_zero != 0) return EINVAL;
#if JW_BIONIC
    bionic_print_info(write_to_stream, stream);
#else
    statistics_report(write_to_stream, stream, AS_XML);
#endif
    return ferror(stream) ? EIO : 0;
}

JW_EXPORT void jw_malloc_stats(void) {
    jw_stats_print(write_to_error, NULL, JW_STATS_TEXT);
}

JW_EXPORT void jw_stats_print(jw_write_function *write, void *cookie, unsigned flags) {
    statistics_report(write, cookie, flags & JW_STATS_JSON ? AS_JSON : AS_TEXT);
}

JW_EXPORT void jw_malloc_disable(void) {
    if (replaced_by_tool() || !allocator_start()) return;
    if (thread_heap() != &no_heap || (!heap_thread_has_ended() && heap_attach())) disable_others();
}

JW_EXPORT void jw_malloc_enable(void) {
    disable_end();
}

/* A receiver of text with an end mark, for which the report's buffer has one byte more. */
struct receiver {
    void (*write)(void *cookie, const char *text);
    void *cookie;
};

static void write_ended(void *cookie, const char *text, size_t length) {
    struct receiver *receiver = cookie;
    ((char *)text)[length] = '\0';
    receiver->write(receiver->cookie, text);
}

JW_EXPORT void jw_malloc_stats_print(void (*write)(void *cookie, const char *text), void *cookie, const char *options) {
    struct receiver to = {write, cookie};
    statistics_report(write == NULL ? write_to_error : write_ended, &to,
                      options != NULL && strchr(options, 'J') != NULL ? AS_JSON : AS_TEXT);
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

JW_EXPORT int jw_seal(void) {
    return seal_roots();
}

JW_EXPORT int jw_realtime_reserve(size_t size) {
    int error = realtime_reserve(size);
    if (error != 0) errno = error;
    return -(error != 0);
}

JW_EXPORT int jw_reclaim_pause(void) {
    if (!allocator_start()) return ENOMEM;
    reclaimer_pause();
    return 0;
}

JW_EXPORT void jw_reclaim_resume(void) {
    if (allocator_start()) reclaimer_resume();
}

OVERRIDES(malloc_trim, jw_malloc_trim);
OVERRIDES(mallinfo2, jw_mallinfo2);
#if JW_BIONIC
OVERRIDES(malloc_disable, jw_malloc_disable);
OVERRIDES(malloc_enable, jw_malloc_enable);
OVERRIDES(malloc_iterate, jw_malloc_iterate);
OVERRIDES(mallinfo, jw_mallinfo2); /* bionic's two structures are the same */
#else
OVERRIDES(mallinfo, jw_mallinfo);
#endif
OVERRIDES(malloc_info, jw_malloc_info);
OVERRIDES(malloc_stats, jw_malloc_stats);
OVERRIDES(malloc_stats_print, jw_malloc_stats_print);
