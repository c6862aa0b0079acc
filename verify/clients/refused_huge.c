/* refused_huge - a huge object grows and is freed; the OS may refuse to grow it, to move it, and to unmap it.
 *
 * bound     1 thread: 1 resize, 1 free; 3 calls that may be refused
 * property  the object keeps its words and one size; what is counted is what is mapped; what was not unmapped is asked
 *           for again by a round, and goes
 * defines   -DMODEL_ROOTS=8 -DJW_WINDOW_SHIFT=14
 */
#include "backend/huge.h"
#include "backend/reclaimer.h"
#include "platform/deferred_unmap.h"
#include "verify/clients/ranges.h"

static size_t outside(void) {
    return atomic_load_explicit(&thrift_counters.huge_bytes, memory_order_relaxed);
}

int main(void) {
    begin();
    uint64_t *object = huge_allocate(ROOT_SIZE, 1, NULL), *behind = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(object && behind && outside() == 2 * ROOT_SIZE);
    object[0] = 1;
    atomic_store_explicit(&model_faults_left, 3, memory_order_relaxed);
    uint64_t *grown = huge_resize(object, huge_usable_size(object), 2 * ROOT_SIZE);
    if (grown) object = grown;
    size_t size = huge_usable_size(object);
    assert(object[0] == 1 && size >= (grown ? 2 : 1) * ROOT_SIZE && outside() == size + ROOT_SIZE);
    unsigned before = model_reserved_roots();
    if (before > (size + ROOT_SIZE - 1) / ROOT_SIZE + 1) /* the move has left something */
        assert(atomic_load_explicit(&reclaimer->round_asked, memory_order_relaxed));
    huge_free(object);
    bool stays = model_reserved_roots() == before;
    assert(outside() == ROOT_SIZE && huge_usable_size(object) == 0);
    atomic_store_explicit(&model_faults_left, 0, memory_order_relaxed);
    if (stays) assert(atomic_load_explicit(&reclaimer->round_asked, memory_order_relaxed));
    unmap_deferred();
    assert(model_reserved_roots() == 1);
    huge_free(behind);
    assert(outside() == 0 && model_reserved_roots() == 0);
    return 0;
}
