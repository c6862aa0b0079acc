/* host_controls.c - what the host sets at run time (host_controls.h). */
#include "core/host_controls.h"

#include <errno.h>

#include "backend/hardened_hooks.h"
#include "backend/limits.h"
#include "config/options.h"
#include "core/start.h"
#include "core/tagging.h"
#include "core/tracking.h"
#include "frontend/disable.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/size_map.h"
#include "frontend/thread_heap.h"
#include "platform/platform.h"
#include "platform/tags.h"

#if JW_HOSTED || SECOND_WAY || TAGGED_ENTRIES

#if CHOOSES_CONTENTS
/* The maps of all heaps must change: so the others' allocations wait, as in malloc_disable. */
static int contents_choose(size_t init) {
    if (!allocator_start()) return ENOMEM;
    if (thread_heap() == &no_heap && (heap_thread_has_ended() || !heap_attach())) return ENOMEM;
    disable_others();
    atomic_store_explicit(&options.init, init, memory_order_relaxed);
    tag_rules_choose();
    size_map_write(thread_heap());
    disable_end();
    return 0;
}
#else
/* Where any contents are right, zeros are, too. */
static int contents_choose(size_t init) {
    if (!allocator_start()) return ENOMEM;
    return init == INIT_NONE || (init == INIT_ZERO && option(&options.zero_on_free)) ? 0 : ENOTSUP;
}
#endif

int jw_set_zero_contents(int on) {
    return contents_choose(on ? INIT_ZERO : INIT_NONE);
}

int jw_set_pattern_contents(int on) {
    return contents_choose(on ? INIT_PATTERN : INIT_NONE);
}

int jw_set_memory_tags(int level) {
    if (level < JW_TAGS_OFF || level > JW_TAGS_SYNC) return EINVAL;
    if (level == JW_TAGS_OFF) tags_give(false); /* before the start, which then does without tags */
    if (!allocator_start()) return ENOMEM;
    if (!tags_active) return level == JW_TAGS_OFF ? 0 : ENOTSUP;
    bool switched = tags_switch(level == JW_TAGS_SYNC, level == JW_TAGS_ASYNC);
    tag_rules_choose();
    return switched ? 0 : ENOTSUP;
}

int jw_set_large_slack(int on) {
    return on ? ENOTSUP : 0;
}

int jw_watch_group(int on) {
    struct group_memory group;
    if (!allocator_start()) return ENOMEM;
    platform_watch_group(on ? START_OWN_GROUP : "", START_GROUPS);
    bool found = platform_group_memory(&group);
    atomic_store_explicit(&options.pressure, found, memory_order_relaxed);
    atomic_store_explicit(&pressure_limit, 0, memory_order_relaxed);
    limits_look();
    return on && !found ? ENOTSUP : 0;
}

#if TRACKED_ENTRIES || SECOND_WAY
_Atomic(bool) tracking;

int jw_track_objects(int on) {
    if (!allocator_start()) return ENOMEM;
    if (!jw_allocated || !jw_freed) return on ? ENOTSUP : 0;
    atomic_store_explicit(&tracking, on != 0, memory_order_relaxed);
    if (JW_SECURE) hardened_hooks.choose_way();
    return 0;
}
#else
int jw_track_objects(int on) {
    return on ? ENOTSUP : 0;
}
#endif

#endif
