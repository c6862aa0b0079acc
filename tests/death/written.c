/* written.c - writes after free: seen by checked builds when the memory is given out again. */
#include "death.h"

static void allocate_again(size_t size) {
    for (int i = 0; i < 1000; i++) malloc(size);
}

/* Frees, writes one byte at `offset`, allocates until it gets the object again. */
static void write_at(size_t size, size_t offset, size_t told, void (*give_free)(void *bytes)) {
    char *bytes = object(size), remark[64];
    snprintf(remark, sizeof remark, "changed at byte %zu", told);
    expect_object("write after free", bytes, bytes, remark);
    give_free(bytes);
    bytes[offset] ^= 1;
    allocate_again(size);
}

static void write_first_word(size_t size) {
    write_at(size, 0, 0, free);
}

static void write_second_word(size_t size) {
    write_at(size, 8, 8, free);
}

static void write_last_byte(size_t size) {
    write_at(size, size - 1, size - 1, free);
}

static void write_middle_after_free_elsewhere(size_t size) {
    write_at(size, size / 2, size / 2, free_elsewhere);
}

static void write_text(size_t size) {
    char *bytes = object(size);
    expect_object("write after free", bytes, bytes, "changed at byte 0");
    free(bytes);
    strcpy(bytes, "what was freed");
    allocate_again(size);
}

/* Nothing was written: nothing is told. */
static void read_only(size_t size) {
    expect_nothing_wrong();
    char *bytes = object(size);
    size_t odd = 0;
    free(bytes);
    for (size_t i = 0; i < size; i++) odd += ((volatile char *)bytes)[i] & 1;
    CHECK(odd <= size);
    allocate_again(size);
}

#define SIZES                                                                                                          \
    { 16, 112, 2 * KB, 3 * KB, 5 * KB, 14 * KB }

const struct death written_deaths[] = {
    {"write_first_word", write_first_word, SIZES},
    {"write_second_word", write_second_word, SIZES},
    {"write_last_byte", write_last_byte, {24, 112, 2 * KB, 5 * KB, 14 * KB}},
    {"write_middle_after_free_elsewhere", write_middle_after_free_elsewhere, SIZES},
    {"write_text", write_text, SIZES},
    {"read_only", read_only, {8, 112, 2 * KB, 5 * KB, 100 * KB}},
    {0},
};
