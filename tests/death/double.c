/* double.c - double frees: in every state that the object's slab or range can be in, by every pair of threads. */
#include "death.h"

#define KIND "double free"
#define AGAIN "free already"

enum { MANY = 4000, BLOCK = 64 * 1024 }; /* no granule is larger than a block */
static char *many[MANY];

/* Enough objects for several blocks; the one in the middle of a block that has no other size's. */
static char *fill(size_t size) {
    CHECK(size * MANY >= 5 * BLOCK);
    for (size_t i = 0; i < MANY; i++) many[i] = object(size);
    return many[MANY / 2];
}

static bool same_block(const char *one, const char *other) {
    return ((uintptr_t)one ^ (uintptr_t)other) < BLOCK;
}

static void twice(char *bytes) {
    expect_object(KIND, bytes, bytes, AGAIN);
    free(bytes);
    free(bytes);
}

static void at_once(size_t size) {
    twice(object(size));
}

static void with_another_between(size_t size) {
    char *one = object(size), *other = object(size);
    expect_object(KIND, one, one, AGAIN);
    free(one);
    free(other);
    free(one);
}

static void with_many_between(size_t size) {
    char *bytes = object(size);
    for (size_t i = 0; i < 20; i++) many[i] = object(size);
    expect_object(KIND, bytes, bytes, AGAIN);
    free(bytes);
    for (size_t i = 0; i < 20; i++) free(many[i]);
    free(bytes);
}

static void of_full_slab(size_t size) {
    twice(fill(size));
}

static void of_partial_slab(size_t size) {
    char *bytes = fill(size);
    for (size_t i = 0; i < MANY; i += 3)
        if (many[i] != bytes) free(many[i]);
    twice(bytes);
}

static void of_empty_slab(size_t size) {
    char *bytes = fill(size);
    expect_object(KIND, bytes, bytes, AGAIN);
    for (size_t i = 0; i < MANY; i++)
        if (same_block(many[i], bytes)) free(many[i]);
    free(bytes);
}

/* The freed list becomes the one to give out from, with two objects that were freed before all else: one is left. */
static void of_list_to_give_out(size_t size) {
    char *bytes = fill(size), *other = NULL;
    for (size_t i = 0; i < MANY; i++) {
        if (many[i] == bytes || !same_block(many[i], bytes)) continue;
        if (!other || i % 2) free(many[i]);
        if (!other) {
            free(bytes);
            other = many[i];
        }
    }
    char *given = object(size), *again = given == bytes ? other : bytes;
    expect_object(KIND, again, given, AGAIN);
    free(again);
}

static void here_then_elsewhere(size_t size) {
    free_elsewhere(NULL); /* what a new thread allocates must not be given the freed range */
    char *bytes = object(size);
    expect_object(KIND, bytes, bytes, AGAIN);
    free(bytes);
    free_elsewhere(bytes);
    malloc_trim(0);
}

static void elsewhere_then_here(size_t size) {
    char *bytes = object(size);
    object(size); /* so that a large object's root stays */
    expect_object(KIND, bytes, bytes, AGAIN);
    free_elsewhere(bytes);
    free(bytes);
}

static void by_two_others(size_t size) {
    free_elsewhere(NULL);
    char *bytes = object(size);
    object(size); /* so that a large object's root stays */
    expect_object(KIND, bytes, bytes, AGAIN);
    free_elsewhere(bytes);
    free_elsewhere(bytes);
    malloc_trim(0);
}

static void of_full_slab_by_two_others(size_t size) {
    char *bytes = fill(size);
    expect_object(KIND, bytes, bytes, AGAIN);
    free_elsewhere(bytes);
    free_elsewhere(bytes);
    malloc_trim(0);
}

static void of_ended_thread(size_t size) {
    free(object(size)); /* a heap for this thread, or the ended one's would be taken */
    char *bytes = object_from_elsewhere(size), *other = object_from_elsewhere(size);
    expect(KIND, bytes, "small", malloc_usable_size(bytes), ENDED, AGAIN);
    free(bytes);
    free(bytes);
    malloc_trim(0);
    free(other);
}

static void of_aligned(size_t alignment) {
    twice(aligned_alloc(alignment, alignment < 4 * MB ? 300 * KB : 9 * MB));
}

/* Neighbours join: the freed object is somewhere in a larger free range. */
static void of_joined(size_t size) {
    char *bytes[3] = {object(size), object(size), object(size)};
    expect_object(KIND, bytes[1], bytes[1], AGAIN);
    for (size_t i = 0; i < 3; i++) free(bytes[i]);
    free(bytes[1]);
}

static void of_moved(size_t size) {
    char *bytes = object(size);
    expect_object(KIND, bytes, bytes, AGAIN);
    char *moved = realloc(bytes, size * 3);
    if (moved == bytes) expect_nothing_wrong(); /* a mapping may grow in place */
    free(bytes);
}

/* No object began at the address, or what it was has been forgotten with the slab, or with the mapping. */
static void of_given_back_slab(size_t size) {
    char *bytes = object(size);
    object(100 * KB); /* keeps the root */
    for (size_t i = 0; i < 20; i++) many[i] = object(size);
    expect_nothing(KIND, bytes, "in free memory");
    free(bytes);
    for (size_t i = 0; i < 20; i++) free(many[i]);
    malloc_trim(0);
    free(bytes);
}

static void into_free_range(size_t size) {
    char *bytes = object(size);
    expect_nothing(KIND, bytes + 64 * KB, "in free memory");
    free(bytes);
    free(bytes + 64 * KB);
}

static void into_freed_mapping(size_t size) {
    char *bytes = object(size);
    expect_nothing(KIND, bytes + 4 * KB, "in memory given back to the system");
    free(bytes);
    free(bytes + 4 * KB);
}

static void into_freed_root(size_t size) {
    if (secure && size > 5 * KB) size = 5 * KB; /* the addresses of large objects are kept, with their size */
    size_t count = 20 * MB / size;
    char **bytes = malloc(count * sizeof *bytes);
    for (size_t i = 0; i < count; i++) bytes[i] = object(size);
    char *middle = bytes[count / 2];
    for (size_t i = 0; i < count; i++) free(bytes[i]);
    malloc_trim(0);
    /* in the hardened build the addresses of slabs are kept */
    expect_nothing(KIND, middle, secure ? "in free memory" : "in memory given back to the system");
    free(middle);
}

#define SMALL                                                                                                          \
    { 112, 200, 800, 2 * KB }
#define ALL_TIERS                                                                                                      \
    { 8, 64, 2 * KB, 3 * KB, 5 * KB, 100 * KB, 9 * MB }

const struct death double_deaths[] = {
    {"at_once", at_once, ALL_TIERS},
    {"at_once_more_sizes", at_once, {16, 200, 14 * KB, 256 * KB, 4 * MB, 64 * MB}},
    {"with_another_between", with_another_between, ALL_TIERS},
    {"with_many_between", with_many_between, {8, 64, 200, 2 * KB}},
    {"of_full_slab", of_full_slab, {112, 200, 2 * KB, 5 * KB}},
    {"of_partial_slab", of_partial_slab, SMALL},
    {"of_empty_slab", of_empty_slab, SMALL},
    {"of_list_to_give_out", of_list_to_give_out, SMALL},
    {"here_then_elsewhere", here_then_elsewhere, ALL_TIERS},
    {"elsewhere_then_here", elsewhere_then_here, ALL_TIERS},
    {"by_two_others", by_two_others, ALL_TIERS},
    {"of_full_slab_by_two_others", of_full_slab_by_two_others, SMALL},
    {"of_ended_thread", of_ended_thread, {64, 1300}},
    {"of_aligned", of_aligned, {128 * KB, 8 * MB}},
    {"of_joined", of_joined, {100 * KB}},
    {"of_moved", of_moved, {100, 5 * KB, 100 * KB, 9 * MB}},
    {"of_given_back_slab", of_given_back_slab, {12 * KB}},
    {"into_free_range", into_free_range, {256 * KB}},
    {"into_freed_mapping", into_freed_mapping, {9 * MB}},
    {"into_freed_root", into_freed_root, {200, 5 * KB, 256 * KB, 3 * MB}},
    {0},
};
