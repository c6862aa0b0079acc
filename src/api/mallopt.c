/* mallopt.c - what a program sets by number: a few parameters act, all others are answered by mallopt.def's table. */
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/override.h"
#include "api/serve.h"
#include "base/compiler.h"
#include "config/options.h"
#include "core/tagging.h"
#include "frontend/size_map.h"
#include "frontend/thread_heap.h"
#include "jwmalloc.h"
#include "platform/tags.h"

/* The values for which the answer is 1, from `least` to `most`. If `most` is below `least`, there are none. */
struct answer {
    int16_t code;
    int8_t least;
    int most;
};

#define NEVER 1, 0
#define VALUES(least, most) least, most
#define ANSWER(code, least, most)                                                                                      \
    { code, least, most }
#if JW_SECURE
#define SAYS(platform, name, code, plain, hardened, meaning, ours) ANSWER(code, hardened),
#else
#define SAYS(platform, name, code, plain, hardened, meaning, ours) ANSWER(code, plain),
#endif
#define ACTS(platform, name, code, meaning, ours)

static const struct answer answers[] = {
#include "api/mallopt.def"
};

/* Android's two parameters about memory tags. */
enum { MEMTAG_TUNING = -102, HEAP_TAGGING_LEVEL = -204 };

/* Android's parameter that leaves the calling thread's objects as they are. */
enum { THREAD_DISABLE_MEM_INIT = -103 };

/* Whether the allocator already does what the parameter's value asks for. False for a parameter that is not in the
 * table. */
static bool value_holds(int parameter, int value) {
    if (tags_active && (parameter == MEMTAG_TUNING || parameter == HEAP_TAGGING_LEVEL))
        return TAGGED_ENTRIES && parameter == MEMTAG_TUNING && value == 0; /* neighbours always differ */
    if (parameter == THREAD_DISABLE_MEM_INIT && value == 1 && option_init() != INIT_NONE) return false;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (answers[i].code == parameter) return value >= answers[i].least && value <= answers[i].most;
    return false;
}

/* Android's values stand for three intervals between rounds: short, default, long. */
static int set_decay_time(int value) {
    if (value < -1 || value > 1) return 0;
    const struct options *source = value == 0 ? &least_options : value == 1 ? &default_options : &most_options;
    atomic_store_explicit(&options.reclaim_interval, source->reclaim_interval, memory_order_relaxed);
    if (value == 0) jw_malloc_trim(0);
    return 1;
}

static int set_reclaim_thread(int value) {
    if (value == 0) return jw_reclaim_pause() == 0;
    if (value == 1) jw_reclaim_resume();
    return value == 1;
}

/* New objects of all threads are zero from now on, or may have any contents. The maps of all heaps must change, as in
 * malloc_disable. */
static int set_zero_init(int value) {
#if JW_SECURE
    return value != 0 && option(&options.zero_on_free) != 0;
#else
    jw_malloc_disable();
    atomic_store_explicit(&options.init, value != 0 ? INIT_ZERO : INIT_NONE, memory_order_relaxed);
    tag_rules_choose();
    if (thread_heap() != &no_heap) size_map_write(thread_heap());
    jw_malloc_enable();
    return 1;
#endif
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
        ANDROID_ZERO_INIT = -203,
        ANDROID_LOG_STATS = -205,
        OPENHARMONY_FLUSH_THREAD_CACHE = -1002,
        PURGE_FAST_US = 1000
    };
    switch (parameter) {
    case JW_M_PURGE:
    case JW_M_PURGE_ALL: jw_malloc_trim(0); return 1;
    case JW_M_PURGE_FAST: jw_purge(JW_PURGE_THREADS, PURGE_FAST_US); return 1;
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
    case ANDROID_ZERO_INIT: return set_zero_init(value);
    case ANDROID_LOG_STATS: jw_malloc_stats(); return 1;
    case OPENHARMONY_FLUSH_THREAD_CACHE: serve_drain(); return 1;
    default: return value_holds(parameter, value);
    }
}

OVERRIDES(mallopt, jw_mallopt);
