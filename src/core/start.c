/* start.c - starting the allocator, at the first call of the process. */
#include "core/start.h"

#include "backend/hardened_hooks.h"
#include "backend/reclaimer.h"
#include "backend/root.h"
#include "backend/thrift.h"
#include "config/options.h"
#include "core/describe.h"
#include "core/fork.h"
#include "core/host_calls.h"
#include "core/tagging.h"
#include "core/watch.h"
#include "frontend/heap_key.h"
#include "frontend/heap_rounds.h"
#include "midend/midend.h"
#include "platform/lse.h"
#include "platform/misuse.h"
#include "platform/platform.h"
#include "platform/tags.h"

/* NOT_STARTED -> STARTING -> STARTED; back to NOT_STARTED if there is no memory for the tables. If two threads make the
 * process's first allocation at once, one waits for the other here. Otherwise only jw_malloc_disable
 * makes malloc and free wait (frontend/disable.h). */
enum { NOT_STARTED, STARTING, STARTED };
static _Atomic(uint32_t) start_state;

/* As soon as the option is known: the filter of the reclamation thread allows what it then reads. */
static COLD void watch_group(void) {
    static bool watched;
    if (watched || !option(&options.pressure)) return;
    watched = true;
    platform_watch_group(START_OWN_GROUP, START_GROUPS);
    limits_look();
}

static COLD wide_bool start_tiers(void) {
    lse_start();
    options_read(); /* before the first mapping, which may get a name */
    if (option_tags() == TAGS_OFF) tags_give(false);
    tags_start(option_tags() != TAGS_ASYNC, option_tags() != TAGS_SYNC);
    platform_start();
    misuse_describes(describe);
    reclaimer_words_start();
    thrift_start();
    root_start();
    if (!page_map_start()) return false;
    if (JW_SECURE) hardened_hooks.at_start();
    midend_start();
    heap_keys_start();
    heap_rounds_start();
    watch_group();
    return true;
}

COLD wide_bool allocator_start(void) {
    for (;;) {
        /* [GO1] acquire: what the start has written; pairs [GO3]; client start_twice */
        uint32_t state = atomic_load_explicit(&start_state, memory_order_acquire);
        if (LIKELY(state == STARTED)) return true;
        if (state == STARTING) {
            platform_futex_wait(&start_state, STARTING, 1);
            continue;
        }
        /* [GO2] acquire: the writes of a start that failed; pairs [GO3]; client start_fails */
        if (!atomic_compare_exchange_strong_explicit(&start_state, &state, STARTING, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        bool started = start_tiers();
        if (started) tag_rules_choose();
        /* [GO3] release: what the start has written; pairs [GO1] [GO2]; client start_twice */
        atomic_store_explicit(&start_state, started ? STARTED : NOT_STARTED, memory_order_release);
        return started;
    }
}

/* Registering fork handlers may allocate, and so may the loader: this comes after the allocator's start. */
CALLED_AT_START void start_with_the_program(void) {
    options_read(); /* not read yet if the allocator started before libc had an environment */
    if (allocator_start()) {
        tag_rules_choose();
        platform_read_rights();
        fork_start();
    }
    platform_finish_start();
    if (option(&options.spare_callers)) platform_spare_callers(SPARED);
    watch_group();
    watch_start();
}
