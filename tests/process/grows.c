/* grows.c - a large object that grows by realloc stays where it is while the memory behind it is free. */
#include <string.h>

#include "tiers.h"

enum { STEP = 4096, FIRST = 16 * 4096, MOST = 2 << 20 };

/* Returns how often the object has moved. `neighbour`: another object grows in turns with it, in its way. */
static unsigned grow(bool neighbour) {
    char *object = malloc(FIRST), *other = neighbour ? malloc(FIRST) : NULL;
    unsigned moves = 0;
    CHECK(object != NULL);
    pattern_fill(object, FIRST, FIRST);
    for (size_t size = FIRST; size < MOST; size += STEP) {
        char *grown = realloc(object, size + STEP);
        CHECK(grown != NULL && pattern_holds(grown, FIRST, FIRST));
        CHECK(malloc_usable_size(grown) >= size + STEP);
        for (size_t at = FIRST; at < size; at += STEP) CHECK(grown[at] == (char)(at / STEP));
        memset(grown + size, (char)(size / STEP), STEP);
        moves += grown != object;
        object = grown;
        if (!neighbour) continue;
        CHECK((other = realloc(other, size + STEP)) != NULL);
        memset(other + size, -1, STEP);
    }
    if (free_sized) free_sized(object, MOST);
    else free(object);
    free(other);
    return moves;
}

int main(void) {
    if (!under_jwmalloc()) check_skip("the C library's malloc promises none of this");
    grow(false);
    unsigned moves = grow(false), beside = grow(true);
    printf("from %d to %d bytes: %u moves; beside another one: %u\n", FIRST, MOST, moves, beside);
    CHECK(moves <= 5); /* one for each doubling, where the memory behind is not free; for each size of range: 20 */
    return 0;
}
