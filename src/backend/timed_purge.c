/* timed_purge.c - the time of a purge, and its walk over the roots. */
#include "backend/timed_purge.h"

#include "backend/page_map.h"
#include "platform/platform.h"

wide_bool purge_is_over(const struct purge *purge) {
    return purge->until != NO_LIMIT && platform_microseconds() >= purge->until;
}

wide_bool purge_walk(struct purge *purge, void (*visit)(granule_id root, void *context), void *context) {
    for (granule_id root; (root = page_map_next(&purge->place, false));) {
        visit(root, context);
        if (purge_is_over(purge)) return false;
    }
    return true;
}
