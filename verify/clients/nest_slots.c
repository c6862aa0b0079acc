/* nest_slots - a bitmap slot of a Nest: one thread places a range, another takes any, a third takes this very one.
 *
 * bound     3 threads, 1 operation each; 2 slots
 * property  exactly one thread gets the range, and it finds the words that the placer wrote
 */
#include "backend/nest.h"
#include "verify/clients/client.h"

enum { RANGE = 9, CLASS = 0 };

static table_word leaf[32], node[32], link_words[32];
static struct nest nest;
static uint64_t contents;
static _Atomic(int) taken;

static void take(granule_id range) {
    if (range == 0) return;
    assert(range == RANGE && contents == 7);
    contents = 8;
    atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
}

static void *placer(void *unused) {
    (void)unused;
    contents = 7;
    leaf_set(RANGE, leaf_free(0));
    bool placed = nest_place(&nest, CLASS, RANGE);
    assert(placed);
    return NULL;
}

static void *taker(void *unused) {
    (void)unused;
    take(nest_take(&nest, CLASS));
    return NULL;
}

static void *taker_of_given(void *unused) {
    (void)unused;
    if (leaf_same(leaf_get(RANGE), leaf_free(0)) && nest_take_this(&nest, CLASS, RANGE, leaf_free(0))) take(RANGE);
    return NULL;
}

int main(void) {
    page_map.leaf = leaf;
    page_map.node = node;
    page_map.link = link_words;
    page_map.mask = 31;
    pthread_t a = start(placer, NULL), b = start(taker, NULL), c = start(taker_of_given, NULL);
    finish(a);
    finish(b);
    finish(c);
    int left = nest_next_class(&nest, 0) < RANGE_CLASSES && nest_take(&nest, CLASS) == RANGE;
    assert(atomic_load_explicit(&taken, memory_order_relaxed) + left == 1);
    return 0;
}
