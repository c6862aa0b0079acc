/* forged.c - links of free objects that the program has changed: malloc gives out no address that such a link names. */
#include "death.h"

#include <stdint.h>

static uint64_t *words_of(void *object) {
    return object;
}

/* A few that no other thread or size has touched: a thread caches freed ones once it allocates several. */
static void allocate_some(void **objects, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++) objects[i] = object(size);
}

static void allocate_again(size_t size, const void *never) {
    for (int i = 0; i < 1000; i++) CHECK(malloc(size) != never);
}

/* `told`: where the line says that the memory was written to: at the link, or where that leads, which is no link. */
static void leads_to(size_t size, void *target, void *told) {
    void *objects[4];
    allocate_some(objects, 4, size);
    uint64_t *one = words_of(objects[1]), *two = words_of(objects[2]);
    if (!told) told = two;
    expect_object("write after free", told, told, "changed at byte 0");
    free(one);
    free(two);
    uint64_t key = *two ^ (uintptr_t)one ^ (uintptr_t)two; /* all that there is to be known */
    *two = key ^ (uintptr_t)two ^ (uintptr_t)target;
    allocate_again(size, target);
}

static void to_own_memory(size_t size) {
    static _Alignas(4096) char own[8192];
    leads_to(size, own + 4096, NULL);
}

static void to_the_stack(size_t size) {
    _Alignas(64) char own[128] = {0};
    leads_to(size, own, NULL);
}

static void to_another_size(size_t size) {
    void *target = object(size == 64 ? 128 : 64);
    leads_to(size, target, size <= 2 * KB && !checked ? target : NULL);
}

static void to_no_address(size_t size) {
    leads_to(size, (void *)(UINTPTR_MAX / 3 & ~(uintptr_t)15), NULL);
}

static void at_random(size_t size) {
    void *objects[4];
    allocate_some(objects, 4, size);
    uint64_t *word = words_of(objects[1]);
    expect_object("write after free", word, word, "changed at byte 0");
    free(word);
    *word = 0x1234567890abcdef;
    allocate_again(size, NULL);
}

/* Where one free object leads, another one leads as well: the list comes round. */
static void copied(size_t size) {
    void *objects[4];
    allocate_some(objects, 4, size);
    uint64_t *one = words_of(objects[1]), *two = words_of(objects[2]);
    expect_object("write after free", two, two, "changed at byte 0");
    free(one);
    free(two);
    *one = *two;
    allocate_again(size, NULL);
}

static void freed_after_clearing(size_t size) {
    void *objects[4];
    allocate_some(objects, 4, size);
    uint64_t *word = words_of(objects[1]);
    expect_object("write after free", word, word, "changed at byte 0");
    free(word);
    *word = 0;
    free(word);
    allocate_again(size, NULL);
}

/* By an overflow of the object before. */
static void overflowed(size_t size) {
    enum { SOME = 300 }; /* a fork's child gets them in random order: the first two that are neighbours */
    char *objects[SOME], *before = NULL;
    for (unsigned i = 0; i < SOME && !before; i++) {
        objects[i] = object(size);
        for (unsigned j = 0; j < i; j++) {
            if (objects[j] == objects[i] + size) before = objects[i];
            if (objects[j] + size == objects[i]) before = objects[j];
        }
    }
    CHECK(before != NULL);
    char *behind = before + size;
    expect_object("write after free", behind, behind, "changed at byte 0");
    free(behind);
    memset(before, 0x41, size + 8);
    allocate_again(size, NULL);
}

#define SIZES                                                                                                          \
    { 16, 64, 112, 800, 2 * KB, 3 * KB, 4 * KB }

const struct death forged_deaths[] = {
    {"to_own_memory", to_own_memory, SIZES},
    {"to_the_stack", to_the_stack, SIZES},
    {"to_another_size", to_another_size, SIZES},
    {"to_no_address", to_no_address, SIZES},
    {"at_random", at_random, SIZES},
    {"copied", copied, {8, 16, 64, 112, 800}},
    {"freed_after_clearing", freed_after_clearing, {8, 16, 64, 112, 800}},
    {"overflowed", overflowed, {16, 64, 112, 512}},
    {0},
};
