#include "backend/root.h"

#include "backend/knit.h"
#include "platform/kept.h"

static _Atomic(size_t) roots;

/* | 31..16 roots being given back | 15..0 walkers |. Giving back goes on only where there is no walker and the other
 * way round; both sides enter by a read-modify-write, so the later of two sees the earlier. */
static _Atomic(uint32_t) walkers;
#define ONE_RELEASE 0x10000u
#define WALKER_MASK 0xffffu

granule_id root_create(enum root_use use) {
    char *address = map_reserve(ROOT_SIZE, ROOT_SIZE, "jwmalloc: ranges");
    if (!address) return 0;
    granule_id root = granule_of(address);
    if (!map_admit_slabs(root)) {
        unmap_or_keep(address, ROOT_SIZE);
        map_abandon(address, ROOT_SIZE);
        return 0;
    }
    knit_root(root);
    atomic_store_explicit(&map.node[root], use, memory_order_relaxed);
    leaf_set(root, leaf_word(HELD, 0));
    atomic_fetch_add_explicit(&roots, 1, memory_order_relaxed);
    return root;
}

bool root_destroy(granule_id root) {
    /* [WK1] acquire: the walkers are done with the memory; pairs [WK4]; client root_walker */
    uint32_t before = atomic_fetch_add_explicit(&walkers, ONE_RELEASE, memory_order_acquire);
    bool gone = (before & WALKER_MASK) == 0;
    if (gone) {
        leaf_set(root, leaf_word(NONE, 0));
        gone = map_release(granule_address(root), ROOT_SIZE);
        if (!gone) leaf_set(root, leaf_word(HELD, 0));
    }
    if (gone) atomic_fetch_sub_explicit(&roots, 1, memory_order_relaxed);
    /* [WK2] release: the root is gone from the map; pairs [WK3]; client root_walker */
    atomic_fetch_sub_explicit(&walkers, ONE_RELEASE, memory_order_release);
    return gone;
}

size_t root_count(void) {
    return atomic_load_explicit(&roots, memory_order_relaxed);
}

bool root_walk_begin(void) {
    /* [WK3] acquire: which roots are gone; pairs [WK2]; client root_walker */
    uint32_t before = atomic_fetch_add_explicit(&walkers, 1, memory_order_acquire);
    if (before < ONE_RELEASE) return true;
    root_walk_end();
    return false;
}

void root_walk_end(void) {
    atomic_fetch_sub_explicit(&walkers, 1, memory_order_release); /* [WK4] pairs [WK1]; client root_walker */
}

void root_forget_walkers(void) {
    atomic_store_explicit(&walkers, 0, memory_order_relaxed);
}
