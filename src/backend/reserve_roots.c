/* reserve_roots.c - makes the roots of the reserve, and gives them back behind the last mark (reserve.h). */
#include "backend/reserve.h"
#include "backend/thrift.h"
#include "backend/thrift_buffers.h"
#include "base/align.h"
#include "config/policy.h"
#include "platform/assert.h"

#if HAS_RESERVE

void reserve_write(void *start, size_t size) {
    enum { SMALLEST_PAGE = 4096 };
    volatile uint32_t nothing = 0; /* clang makes a mere load of the addition of a constant 0 */
    for (char *page = (char *)align_down((uintptr_t)start, SMALLEST_PAGE); page < (char *)start + size;
         page += SMALLEST_PAGE)
        atomic_fetch_add_explicit((table_word *)page, nothing, memory_order_relaxed);
}

/* root_create has written to the pages of the root's words. */
bool reserve_add(size_t size) {
    invariant(reserve_is_used());
    if (size > RESERVE_MOST || !thrift_admit(align_up(size, ROOT_SIZE) >> JW_GRANULE_SHIFT)) return false;
    atomic_store_explicit(&reserve_is_there, true, memory_order_relaxed);
    reserve_write(&ownership.nests[ORDINARY_NESTS], (NESTS - ORDINARY_NESTS) * sizeof(struct nest));
    for (size_t made = 0; made < size; made += ROOT_SIZE) {
        granule_id root = root_create(FOR_RESERVE);
        if (!root) return false;
        bool admitted = root_admits_slabs(root);
        if (admitted) {
            reserve_write(granule_address(root), ROOT_SIZE);
            reserve_write(record_at(root), ROOT_GRANULES * RECORD_SIZE);
        }
        range_place(root, MAPPED);
        if (!admitted) return false;
    }
    return true;
}

void reserve_mark(bool marked) {
    atomic_fetch_add_explicit(&reserve_users, (uint32_t)marked - reserve_mine, memory_order_relaxed);
    reserve_mine = marked;
    for (unsigned buffer = 0; buffer < 2 && !reserve_is_used(); buffer++) thrift_reclaim(buffer, true);
}

#endif
