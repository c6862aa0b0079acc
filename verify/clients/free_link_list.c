/* free_link_list - two threads put free objects into a list through their first words, while a third takes all.
 *
 * bound     3 threads: 1 and 2 objects put in, 1 take; 3 objects
 * property  the links lead to each object once; what is taken has no link any more
 */
#include "sync/free_link.h"
#include "verify/clients/client.h"

enum { OBJECTS = 3 };

static uint64_t objects[OBJECTS][2];
static _Atomic(void *) first = LINK_END;
static uint64_t key;

static void put(unsigned i) {
    void *old = atomic_load_explicit(&first, memory_order_relaxed);
    objects[i][1] = i;
    do link_write(objects[i], old, key);
    while (
        !atomic_compare_exchange_weak_explicit(&first, &old, objects[i], memory_order_release, memory_order_relaxed));
}

static unsigned take(void) {
    unsigned found = 0;
    void *object = atomic_exchange_explicit(&first, LINK_END, memory_order_acquire);
    for (void *next; !link_is_end(object); object = next) {
        uint64_t i = ((uint64_t *)object)[1];
        assert(object == objects[i] && *link_upper_half(object) >= LINK_MARK);
        assert(!(found >> i & 1));
        next = link_next(object, key);
        link_clear(object);
        assert(*link_upper_half(object) < LINK_MARK);
        found |= 1u << i;
    }
    assert(object == LINK_END);
    return found;
}

static void *putting_one(void *unused) {
    (void)unused;
    put(0);
    return NULL;
}

static void *putting_two(void *unused) {
    (void)unused;
    put(1);
    put(2);
    return NULL;
}

static void *taking(void *found) {
    *(unsigned *)found = take();
    return NULL;
}

int main(void) {
    unsigned taken = 0;
    key = link_key_of(0x123456789abcdef0);
    pthread_t a = start(putting_one, NULL), b = start(putting_two, NULL), c = start(taking, &taken);
    finish(a);
    finish(b);
    finish(c);
    unsigned left = take();
    assert((taken ^ left) == (1u << OBJECTS) - 1 && (taken & left) == 0);
    return 0;
}
