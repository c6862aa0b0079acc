/* huge_resize - a huge object grows, where it is or by moving, while the neighbour in its way is freed.
 *
 * bound     2 threads: 1 resize, 1 free; the arena and the window have room for 7 mappings of one root's size
 * property  the object keeps its words, its size is the new one, and in the end no mapping is left
 * defines   -DMODEL_ROOTS=8 -DJW_WINDOW_SHIFT=14
 */
#include "backend/huge.h"
#include "verify/clients/ranges.h"

static uint64_t *grown, *neighbour, *moved_from;

static void *growing(void *unused) {
    (void)unused;
    uint64_t *before = grown;
    grown = huge_resize(grown, huge_usable_size(grown), 2 * ROOT_SIZE);
    moved_from = grown != before ? before : NULL;
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    neighbour[0] = 2;
    huge_free(neighbour);
    neighbour = huge_allocate(ROOT_SIZE, 1, NULL);
    return NULL;
}

int main(void) {
    begin();
    grown = huge_allocate(ROOT_SIZE, 1, NULL);
    neighbour = huge_allocate(ROOT_SIZE, 1, NULL);
    grown[0] = 1;
    pthread_t a = start(growing, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(grown && neighbour && huge_usable_size(grown) >= 2 * ROOT_SIZE && huge_usable_size(neighbour) == ROOT_SIZE);
    assert(grown[0] == 1);
    assert(!moved_from || moved_from == neighbour || huge_usable_size(moved_from) == 0);
    grown[2 * ROOT_SIZE / sizeof *grown - 1] = 3;
    neighbour[0] = 4;
    huge_free(grown);
    huge_free(neighbour);
    assert(claimed_slots() == 0 && model_reserved_roots() == 0);
    return 0;
}
