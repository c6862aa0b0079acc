/* cell_put_take - two threads put an element each into one cell; one of them fills a cell of its own and takes from it;
 * a third marks what it finds there and takes what is marked; a fourth takes from both cells.
 *
 * bound     4 threads: 2 puts, 1 fill, 1 take of the own element | 2 changes | 2 takes; 3 elements
 * property  one thread gets each element, with what its thread wrote; an element that found no room stays with its
 *           thread
 */
#include "sync/cell.h"
#include "verify/clients/client.h"

enum { ELEMENTS = 3, MARK = 8 };

static struct element {
    uint64_t number, taken;
} elements[ELEMENTS + 1];
static struct cell shared, own;

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

static void *putting(void *unused) {
    (void)unused;
    put(1);
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
    return NULL;
}

int main(void) {
    pthread_t threads[] = {start(putting, NULL), start(putting_and_filling, NULL), start(changing, NULL),
                           start(taking, NULL)};
    for (unsigned i = 0; i < sizeof threads / sizeof *threads; i++) finish(threads[i]);
    get(cell_take(&shared));
    assert(cell_look(&shared) == 0 && cell_look(&own) == 0);
    for (unsigned i = 1; i <= ELEMENTS; i++) assert(elements[i].taken == 1);
    return 0;
}
