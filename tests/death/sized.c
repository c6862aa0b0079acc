/* sized.c - frees that say what size or alignment the object has: right, and wrong. */
#include "death.h"

#if UINTPTR_MAX > 0xffffffffu
#define SIZE "m"
#else
#define SIZE "j"
#endif
#define MANGLED(name) __asm__(name) __attribute__((weak))
void delete_sized(void *object, size_t size) MANGLED("_ZdlPv" SIZE);
void delete_array_sized(void *object, size_t size) MANGLED("_ZdaPv" SIZE);
void delete_aligned(void *object, size_t alignment) MANGLED("_ZdlPvSt11align_val_t");
void delete_sized_aligned(void *object, size_t size, size_t alignment) MANGLED("_ZdlPv" SIZE "St11align_val_t");

static void expect_size(const void *object, size_t told) {
    char remark[64];
    snprintf(remark, sizeof remark, "given size %zu", told);
    expect_object("wrong size", object, object, remark);
}

static void expect_alignment(const void *object, size_t told) {
    char remark[64];
    snprintf(remark, sizeof remark, "given alignment %zu", told);
    expect_object("wrong alignment", object, object, remark);
}

static void told_wrong(size_t size, size_t told) {
    char *bytes = object(size);
    expect_size(bytes, told);
    free_sized(bytes, told);
}

static void told_one_class_less(size_t size) {
    told_wrong(size, size < 16 * KB ? size / 4 * 3 : size / 2);
}

static void told_a_class_more(size_t size) {
    told_wrong(size, malloc_usable_size(object(size)) + 1);
}

static void told_another_tier(size_t size) {
    told_wrong(size, size < 3 * KB ? 6 * KB : 100);
}

/* The class of a slab that was where the object begins. */
static void told_former_slab(size_t size) {
    enum { COUNT = 4000, SLABS = 500 };
    static uintptr_t slabs[SLABS];
    static char *small[COUNT];
    if (secure) { /* where the memory of slabs stays that of slabs */
        expect_nothing_wrong();
        return;
    }
    for (unsigned i = 0; i < COUNT; i++) slabs[i % SLABS] = (uintptr_t)(small[i] = object(1000)) >> 12;
    for (unsigned i = 0; i < COUNT; i++) free(small[i]);
    malloc_trim(0);
    for (unsigned i = 0; i < 4000; i++) {
        char *bytes = object(size);
        for (unsigned j = 0; j < SLABS; j++)
            if (slabs[j] == (uintptr_t)bytes >> 12) {
                expect_size(bytes, 1000);
                free_sized(bytes, 1000);
            }
    }
}

static void told_far_too_much(size_t size) {
    told_wrong(size, SIZE_MAX - 5);
}

static void told_nothing(size_t size) {
    told_wrong(size, 0);
}

static void told_elsewhere(size_t size) {
    char *bytes = object_from_elsewhere(size);
    expect("wrong size", bytes, "small", malloc_usable_size(bytes), ENDED, "given size 500");
    free_sized(bytes, 500);
}

static void delete_told_wrong(size_t size) {
    char *bytes = object(size);
    expect_size(bytes, size * 2);
    delete_sized(bytes, size * 2);
}

static void delete_array_told_wrong(size_t size) {
    char *bytes = object(size);
    expect_size(bytes, size / 2);
    delete_array_sized(bytes, size / 2);
}

static void delete_told_wrong_alignment(size_t size) {
    char *bytes = object(size);
    while ((uintptr_t)bytes % 8192 == 0) bytes = object(size);
    expect_alignment(bytes, 8192);
    delete_aligned(bytes, 8192);
}

static void aligned_told_wrong(size_t size) {
    char *bytes = aligned_alloc(64, size);
    expect_size(bytes, size * 4);
    free_aligned_sized(bytes, 64, size * 4);
}

static void delete_aligned_told_wrong(size_t size) {
    char *bytes = aligned_alloc(64, size);
    expect_size(bytes, size * 4);
    delete_sized_aligned(bytes, size * 4, 64);
}

static void told_no_alignment(size_t alignment) {
    char *bytes = object(100);
    expect_alignment(bytes, alignment);
    free_aligned_sized(bytes, alignment, 100);
}

/* The size is told of an address that is none of an object. */
static void sized_free_of_stack(size_t size) {
    _Alignas(64) char local[64] = {0};
    expect_nothing("invalid free", local, "not allocated here");
    free_sized(local, size);
}

static void sized_free_inside(size_t size) {
    char *bytes = object(size);
    expect_object("invalid free", bytes + 16, bytes, "inside an object");
    free_aligned_sized(bytes + 16, 64, size);
}

static void sized_double_free(size_t size) {
    char *bytes = object(size);
    expect_object("double free", bytes, bytes, "free already");
    free_sized(bytes, size);
    free_sized(bytes, size);
}

static void shrunk_told_too_little(size_t size) {
    char *bytes = realloc(object(size), size / 4 * 3);
    free_sized(bytes, size / 4 * 3);
    bytes = object(size);
    expect_size(bytes, size / 4);
    free_sized(bytes, size / 4);
}

/* All that is right. */
static void told_right(size_t size) {
    expect_nothing_wrong();
    for (size_t told = size; told < size + 40; told++) {
        free_sized(object(told), told);
        free_sized(calloc(told, 1), told);
        char *usable = object(told);
        free_sized(usable, malloc_usable_size(usable));
        delete_sized(object(told), told);
        delete_array_sized(object(told), told);
        for (size_t alignment = 1; alignment <= 8 * MB; alignment *= 2) {
            free_aligned_sized(aligned_alloc(alignment, told), alignment, told);
            delete_aligned(aligned_alloc(alignment, told), alignment);
            delete_sized_aligned(aligned_alloc(alignment, told), told, alignment);
        }
    }
    free_sized(malloc(0), 0);
    free_sized(NULL, size);
    free_aligned_sized(NULL, 3, size);
}

static void told_right_after_realloc(size_t size) {
    expect_nothing_wrong();
    for (size_t from = size; from < size * 3; from += size / 8)
        for (size_t to = from / 8; to < from * 2; to += from / 8) free_sized(realloc(object(from), to), to);
}

/* A huge object that moves gets room to grow; another one lies behind it, so that it has to. */
static void told_right_after_growth(size_t size) {
    expect_nothing_wrong();
    object(size);
    for (size_t to = size + size / 8; to < size * 2; to += size / 8) free_sized(realloc(object(size), to), to);
}

/* A freed mapping, larger by a little, may serve a huge object. */
static void told_right_of_reused(size_t size) {
    expect_nothing_wrong();
    free(object(size + size / 16));
    free_sized(object(size), size);
    free(object(size + size / 16));
    delete_sized(object(size), size);
}

#define ALL_TIERS                                                                                                      \
    { 100, 2 * KB, 10 * KB, 14 * KB, 256 * KB, 9 * MB }

const struct death sized_deaths[] = {
    {"told_one_class_less", told_one_class_less, {100, 1300, 10 * KB, 14 * KB, 256 * KB, 9 * MB}},
    {"told_a_class_more", told_a_class_more, ALL_TIERS},
    {"told_another_tier", told_another_tier, ALL_TIERS},
    {"told_former_slab", told_former_slab, {14 * KB, 256 * KB}},
    {"told_far_too_much", told_far_too_much, ALL_TIERS},
    {"told_nothing", told_nothing, ALL_TIERS},
    {"told_elsewhere", told_elsewhere, {64}},
    {"delete_told_wrong", delete_told_wrong, ALL_TIERS},
    {"delete_array_told_wrong", delete_array_told_wrong, ALL_TIERS},
    {"delete_told_wrong_alignment", delete_told_wrong_alignment, {100, 2 * KB}},
    {"aligned_told_wrong", aligned_told_wrong, ALL_TIERS},
    {"delete_aligned_told_wrong", delete_aligned_told_wrong, ALL_TIERS},
    {"told_no_alignment", told_no_alignment, {3, 48}},
    {"told_alignment_0", told_no_alignment, {0}},
    {"sized_free_of_stack", sized_free_of_stack, {64, 6 * KB}},
    {"sized_free_inside", sized_free_inside, ALL_TIERS},
    {"sized_double_free", sized_double_free, ALL_TIERS},
    {"shrunk_told_too_little", shrunk_told_too_little, {100, 5 * KB, 256 * KB}},
    {"told_right", told_right, {1, 100, 1990, 5 * KB, 13 * KB, 256 * KB}},
    {"told_right_of_huge", told_right, {4 * MB - 20, 9 * MB}},
    {"told_right_of_reused", told_right_of_reused, {5 * MB, 9 * MB}},
    {"told_right_after_growth", told_right_after_growth, {100, 1600, 5 * KB, 13 * KB, 256 * KB, 5 * MB}},
    {"told_right_after_realloc", told_right_after_realloc, {64, 1600, 5 * KB, 13 * KB, 256 * KB, 5 * MB}},
    {0},
};
