/* fork.c - the handlers around fork: which tiers lock, unlock or forget what. */
#include "core/fork.h"

#include "backend/backend.h"
#include "backend/hardened_hooks.h"
#include "config/options.h"
#include "frontend/disable.h"
#include "frontend/heap_fork.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/remote_reclaim.h"
#include "midend/midend.h"
#include "platform/platform.h"

static void before_fork(void) {
    heap_before_fork();
    backend_before_fork();
    midend_before_fork();
}

static void after_fork(void) {
    midend_after_fork(false);
    backend_after_fork(false);
    heap_after_fork(false);
}

static void after_fork_in_child(void) {
    disable_end();
    if (option(&options.spare_callers)) platform_spare_callers(SPARED); /* a thread that is gone may have lifted it */
    if (JW_SECURE) hardened_hooks.child_begins();
    midend_after_fork(true);
    backend_after_fork(true);
    remote_reclaim_after_fork();
    heap_after_fork(true);
    heap_thread_forget_start();
}

void fork_start(void) {
    platform_on_fork(before_fork, after_fork, after_fork_in_child);
}
