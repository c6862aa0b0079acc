/* watch.c - loads the library that publishes this process's state (watch.h). */
#include "core/watch.h"

#include "base/mitigations.h"
#include "base/published.h"
#include "config/options.h"
#include "frontend/heap.h"
#include "jwmalloc.h"
#include "midend/midend.h"
#include "platform/host.h"
#include "platform/platform.h"

#if !WITHOUT_WATCHER
_Atomic(const struct watcher *) watcher;
#define WATCHER &watcher
#else
#define WATCHER NULL
#endif

/* Numbers whose digits are their parts: two builds that differ in a part differ in the number. */
#define LAYOUT_OF_BUILD                                                                                                \
    ((((JW_GRANULE_SHIFT * 64u + JW_ROOT_SHIFT) * 64u + JW_WINDOW_SHIFT) * 2u + JW_LINK_CHECK) * 4u +                  \
     JW_CHECKED * 2u + GUARDED)
#define LAYOUT_OF_HEAPS                                                                                                \
    ((sizeof(struct heap) * 64u + offsetof(struct heap, reopened)) * 64u + offsetof(struct heap, mid_caches))
#define LAYOUT ((uint32_t)(LAYOUT_OF_BUILD + LAYOUT_OF_HEAPS * 0x9e3779b9u))

uint32_t watch_layout(void) {
    return LAYOUT;
}

COLD void watch_start(void) {
    static const char missing[] = "jwmalloc: watch: libjwwatch.so cannot be loaded\n";
    static const struct watch_offer offer = {.library = JW_VERSION,
                                             .layout = LAYOUT,
                                             .entry = sizeof(struct published),
                                             .table = PUBLISHED_BEGIN,
                                             .end = PUBLISHED_END,
                                             .watcher = WATCHER};
    if (JW_HOSTED || !option(&options.watch)) return;
    if (!platform_call_library("libjwwatch.so", "jw_watch", &offer)) platform_write(missing, sizeof missing - 1);
}
