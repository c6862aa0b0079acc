/* cell_put_take - two threads put an element each into one cell; one of them fills a cell of its own and takes from it;
 * a third marks what it finds there and takes what is marked; a fourth takes from both cells. The first and the last
 * also take an element from a third cell, look at it and put it back.
 *
 * bound     4 threads: 2 puts, 2 fills, 1 take of the own element | 2 changes | 4 takes, 2 put back; 4 elements
 * property  one thread gets each element, with what its thread wrote; an element that found no room stays with its
 *           thread; one that is put back is there in the end
 */
#include "sync/cell.h"
#include "verify/clients/client.h"

enum { ELEMENTS = 4, MARK = 8 };

static struct element {
    uint64_t number, taken;
} elements[ELEMENTS + 1];
static struct cell shared, own, lent;

static uint32_t made(uint32_t id) {
    elements[id].number = id;
    return id;
}

static void get(uint32_t value) {
    uint32_t id = value & (MARK - 1);
    if (id == 0) return;
    assert(elements[id].number == id);
    elements[id].number = 0;
    elements[id].taken++;
}

static void put(uint32_t id) {
    if (!cell_put(&shared, made(id))) get(id);
}

/* What is taken is this thread's alone until it is put back. */
static void use_lent(void) {
    uint32_t id = cell_take(&lent);
    if (id == 0) return;
    assert(elements[id].number == id);
    cell_fill(&lent, made(id));
}

static void *putting(void *unused) {
    (void)unused;
    put(1);
    use_lent();
    return NULL;
}

static void *putting_and_filling(void *unused) {
    (void)unused;
    put(2);
    cell_fill(&own, made(3));
    get(cell_take_own(&own));
    return NULL;
}

static void *changing(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t value = cell_look(&own), marked = value & MARK;
        if (value && cell_change(&own, value, marked ? 0 : value | MARK) && marked) get(value);
    }
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    get(cell_take(&shared));
    get(cell_take(&own));
    use_lent();
    return NULL;
}

int main(void) {
    cell_fill(&lent, made(4));
    pthread_t threads[] = {start(putting, NULL), start(putting_and_filling, NULL), start(changing, NULL),
                           start(taking, NULL)};
    for (unsigned i = 0; i < sizeof threads / sizeof *threads; i++) finish(threads[i]);
    get(cell_take(&shared));
    get(cell_take(&lent));
    assert(cell_look(&shared) == 0 && cell_look(&own) == 0);
    for (unsigned i = 1; i <= ELEMENTS; i++) assert(elements[i].taken == 1);
    return 0;
}
