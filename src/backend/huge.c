#include "backend/huge.h"

#include "backend/thrift.h"
#include "base/misuse.h"
#include "platform/kept.h"
#include "platform/platform.h"

enum { MOST_ROOM = 1 << 28 }; /* for a moved object to grow into */

static _Atomic(size_t) mappings, bytes, mapped_total;

static void count(size_t number, size_t size) {
    atomic_fetch_add_explicit(&mappings, number, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed);
}

size_t huge_good_size(size_t size) {
    size_t unit = platform_page_size() > GRANULE_SIZE ? platform_page_size() : GRANULE_SIZE;
    size = (size + unit - 1) & ~(unit - 1);
    return size <= PTRDIFF_MAX && size >> JW_GRANULE_SHIFT <= UINT32_MAX ? size : 0;
}

static size_t size_of(granule_id id) {
    return (size_t)atomic_load_explicit(&map.node[id], memory_order_relaxed) << JW_GRANULE_SHIFT;
}

static void set_size(granule_id id, size_t size) {
    atomic_store_explicit(&map.node[id], (uint32_t)(size >> JW_GRANULE_SHIFT), memory_order_relaxed);
}

void *huge_allocate(size_t size, size_t alignment) {
    size = huge_good_size(size);
    if (size == 0) return NULL;
    if (alignment < ROOT_SIZE) alignment = ROOT_SIZE;
    thrift_expect(size >> JW_GRANULE_SHIFT);
    char *object = map_reserve(size, alignment, "jwmalloc: huge");
    if (!object && thrift_make_room()) object = map_reserve(size, alignment, "jwmalloc: huge");
    if (!object) return NULL;
    set_size(granule_of(object), size);
    leaf_set(granule_of(object), leaf_word(HUGE_MAPPING, 0));
    count(1, size);
    atomic_fetch_add_explicit(&mapped_total, size, memory_order_relaxed);
    return object;
}

static bool is_huge(const void *object) {
    return map_owns(object) && ((uintptr_t)object & (ROOT_SIZE - 1)) == 0 && leaf_kind(leaf_of(object)) == HUGE_MAPPING;
}

/* What the OS does not take now it is offered again by rounds, and by who next makes a mapping. */
static void drop(char *object, size_t size) {
    if (!unmap_or_keep(object, size)) thrift_wake();
    map_abandon(object, size);
    count((size_t)-1, (size_t)-size);
}

void huge_free(void *object) {
    granule_id id = granule_of(object);
    uint32_t expected = leaf_word(HUGE_MAPPING, 0);
    /* relaxed: of two threads that free the same object only one goes on, and nothing else passes between them */
    if (!is_huge(object) || !atomic_compare_exchange_strong_explicit(&map.leaf[id], &expected, leaf_word(NONE, 0),
                                                                     memory_order_relaxed, memory_order_relaxed))
        misuse(INVALID_FREE, object, 0);
    drop(object, size_of(id));
}

size_t huge_usable_size(const void *object) {
    return is_huge(object) ? size_of(granule_of(object)) : 0;
}

static bool resize_in_place(void *object, size_t old, size_t new) {
    if (!platform_resize(object, old, new)) return false;
    set_size(granule_of(object), new);
    count(0, new - old);
    return true;
}

/* With room to grow, which costs addresses only: an object that grows by little is not moved each time. */
static size_t with_room(size_t size) {
    size_t room = size / 8 < MOST_ROOM ? size / 8 : MOST_ROOM;
    return (size + room + ROOT_SIZE - 1) & ~(size_t)(ROOT_SIZE - 1);
}

/* The tail's memory goes back at once. Its addresses stay the object's where they may be room to grow, or where the OS
 * does not take them. No mapping becomes smaller than what a range holds: an object that goes on shrinking moves to a
 * range when it is half of that. */
static void shrink(char *object, size_t old, size_t new) {
    size_t least = new > BACKEND_MAX ? new : huge_good_size(BACKEND_MAX + 1);
    if (old > with_room(new) && old > least && resize_in_place(object, old, least)) old = least;
    if (new < old) platform_discard(object + new, old - new);
}

void *huge_resize(void *object, size_t size) {
    size_t old = huge_usable_size(object), new = huge_good_size(size);
    if (old == 0) misuse(INVALID_POINTER, object, 0);
    if (new == 0) return NULL;
    if (new < old) shrink(object, old, new);
    if (new <= old || resize_in_place(object, old, new)) return object;
    char *moved = huge_allocate(with_room(new), ROOT_SIZE);
    if (!moved) moved = huge_allocate(new, ROOT_SIZE);
    if (!moved) return NULL;
    new = size_of(granule_of(moved));
    enum platform_moved result = platform_move(object, moved, old);
    char *gone = result == MOVED ? object : moved;
    leaf_set(granule_of(gone), leaf_word(NONE, 0));
    if (result == MOVE_REFUSED) {
        drop(moved, new);
        return NULL;
    }
    if (result == MOVE_LOST_TARGET) unmap_or_keep(moved + old, new - old);
    size_t size_gone = result == MOVED ? old : new;
    map_abandon(gone, size_gone);
    count((size_t)-1, (size_t)-size_gone);
    return result == MOVED ? moved : NULL;
}

size_t huge_in_use(void) {
    return atomic_load_explicit(&bytes, memory_order_relaxed);
}

void huge_statistics(struct huge_statistics *statistics) {
    statistics->mappings = atomic_load_explicit(&mappings, memory_order_relaxed);
    statistics->bytes = atomic_load_explicit(&bytes, memory_order_relaxed);
    statistics->mapped_total = atomic_load_explicit(&mapped_total, memory_order_relaxed);
}
