/* seal_roots.c - jw_seal: seals all roots, and lets all tiers begin anew (sealed.h). */
#include "core/seal_roots.h"

#include <errno.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/knit.h"
#include "backend/large_object.h"
#include "core/iterate.h"
#include "core/sealed.h"
#include "core/start.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/slab.h"
#include "midend/mid_slab.h"
#include "platform/platform.h"
#include "platform/tags.h"
#include "platform/tool.h"

static void seal_granule(granule_id id) {
    struct leaf_word leaf = leaf_get(id);
    struct slab *slab = record_at(id);
    if (leaf_is_slab(leaf)) {
        leaf = leaf_sealed(TIER_SMALL, size_classes[slab->class].size);
        /* of a slab that was given back, the record is as it was */
        if (!slab_has_key(slab, 0)) slab_clear_key(slab);
        else leaf = leaf_none();
    } else if (leaf_kind(leaf) == MID) {
        leaf = leaf_sealed(TIER_MID, mid_shapes[leaf_class(leaf)].size);
    } else if (leaf_kind(leaf) == LARGE) {
        leaf = leaf_sealed(TIER_LARGE, large_bytes_in(knit_weight(id) - leaf_offset(leaf)));
    }
    leaf_set(id, leaf);
}

/* The next root from *slot on that has ranges: the first leaf of a spare root is still 0. 0: there is none. */
static granule_id next_root(uint32_t *slot) {
    granule_id root;
    do root = page_map_next(slot, false);
    while (root && leaf_same(leaf_get(root), leaf_none()));
    return root;
}

static int seal_all(void) {
    granule_id root;
    size_t size = 0;
    heap_drain_own();
    thrift_purge();
    for (uint32_t slot = 0; next_root(&slot);) size += SEALED_BITMAP_SIZE;
    if (size == 0) return 0;
    uintptr_t bitmap = (uintptr_t)platform_reserve(size, SEALED_BITMAP_UNIT, "jwmalloc: sealed");
    if (!bitmap) return ENOMEM;
    for (uint32_t slot = 0; (root = next_root(&slot)); bitmap += SEALED_BITMAP_SIZE) sealed_give_bitmap(root, bitmap);
    iterate_roots(sealed_note, NULL);
    for (uint32_t slot = 0; (root = next_root(&slot));) {
        for (granule_id id = root; id < root + ROOT_GRANULES; id++) seal_granule(id);
        page_map_seal(root);
    }
    backend_forget_sealed();
    mid_slab_forget_sealed();
    heaps_forget_sealed();
    return 0;
}

static wide_bool is_alone(void) {
    char status[2048];
    status[platform_read_file("/proc/self/status", status, sizeof status - 1)] = '\0';
    const char *line = status;
    while ((line = strchr(line, '\n')) && strncmp(++line, "Threads:\t1\n", 11) != 0) continue;
    return line != NULL;
}

int seal_roots(void) {
    if (!JW_SEAL || TRAILERS || replaced_by_tool()) return ENOTSUP;
    if (!allocator_start()) return ENOMEM;
    if (tags_active) return ENOTSUP; /* a free writes the tags of an object */
    reclaimer_pause();
    int error = is_alone() ? seal_all() : EBUSY;
    reclaimer_resume();
    return error;
}
