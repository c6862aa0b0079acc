/* shrunk_memory.c - what realloc cuts off an object leaves the process.
 *
 *   shrunk_memory        a huge object's memory is gone when realloc returns; that of large ones, which is free memory
 *                        like any other, within some rounds: waits for it
 *   shrunk_memory now    the same in a process that has no reclamation thread and keeps nothing
 */
#include "tiers.h"

#define MB ((size_t)1 << 20)
#define KB ((size_t)1 << 10)

/* What an object may keep beyond what was asked for, with the pages that the test itself touches. */
enum { HUGE_SPARE = 1 << 20 };

static char *resized(char *object, size_t from, size_t to) {
    char *made = realloc(object, to);
    CHECK(made != NULL);
    CHECK(pattern_holds(made, from < to ? from : to, from));
    return made;
}

static void huge_shrinks(size_t from, size_t to) {
    malloc_trim(0); /* what was freed before is not to be mistaken for this object's */
    size_t before = resident_bytes();
    char *object = malloc(from);
    CHECK(object != NULL);
    pattern_fill(object, from, from);
    object = resized(object, from, to);
    /* less than before, if the reclamation thread held something during malloc_trim and gives it back only now */
    size_t now = resident_bytes();
    printf("%zu to %zu bytes: %zu resident\n", from, to, now > before ? now - before : 0);
    CHECK(now < before + to + HUGE_SPARE);
    object[to - 1] = 1;
    CHECK(malloc_usable_size(object) >= to);
    object = realloc(object, to + to / 10); /* and it grows again */
    CHECK(object != NULL && object[to - 1] == 1);
    memset(object + to, 1, to / 10);
    free(object);
}

/* The tails lie between objects that stay; what is freed later joins with them. */
static void large_ones_shrink(size_t from, size_t to, size_t most, bool wait) {
    enum { COUNT = 16 };
    char *objects[COUNT];
    malloc_trim(0);
    size_t before = resident_bytes();
    for (size_t i = 0; i < COUNT; i++) {
        objects[i] = malloc(from);
        CHECK(objects[i] != NULL);
        pattern_fill(objects[i], from, from);
    }
    for (size_t i = 0; i < COUNT; i++) objects[i] = resized(objects[i], from, to);
    if (wait) AWAIT(resident_bytes() < before + COUNT * most);
    size_t now = resident_bytes();
    printf("%d of %zu to %zu bytes: %zu resident\n", COUNT, from, to, now > before ? now - before : 0);
    CHECK(now < before + COUNT * most);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(pattern_holds(objects[i], to, from));
        CHECK(malloc_usable_size(objects[i]) >= to && malloc_usable_size(objects[i]) < most);
        if (free_sized && i % 2) free_sized(objects[i], to); /* its size now: no misuse */
        else free(objects[i]);
    }
}

int main(int count, char **arguments) {
    bool wait = !(count > 1 && strcmp(arguments[1], "now") == 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    huge_shrinks(200 * MB, 101 * MB);
    huge_shrinks(200 * MB, 199 * MB);
    huge_shrinks(200 * MB, 170 * MB);
    huge_shrinks(200 * MB, 5 * MB);
    huge_shrinks(20 * MB, 11 * MB);
    huge_shrinks(7 * MB, 4 * MB);
    huge_shrinks(6 * MB, 3 * MB + 4096);
    large_ones_shrink(4 * MB, 2 * MB + 8 * KB, 3 * MB, wait);
    large_ones_shrink(4 * MB, 300 * KB, 400 * KB, wait);
    large_ones_shrink(400 * KB, 210 * KB, 300 * KB, wait);
    for (size_t size = 3 * MB; size > 16 * KB; size -= size / 3) large_ones_shrink(size, size / 5 * 3, size, wait);
    puts("ok");
    return 0;
}
