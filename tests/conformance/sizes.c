/* sizes.c - every allocating entry point at the edges of sizes and alignments. */
#include "cases.h"

static const size_t sizes[] = {0,       1,           7,      8,          9,      15,           16,       17,
                               24,      100,         1000,   1024,       2000,   2048,         2049,     4095,
                               4096,    4097,        14336,  14337,      65536,  128 * KB - 1, 128 * KB, 128 * KB + 1,
                               MB - 16, 4 * MB - 17, 4 * MB, 4 * MB + 1, 33 * MB};
enum { SIZES = sizeof sizes / sizeof *sizes };

enum entry { MALLOC, CALLOC, CALLOC_MANY, REALLOC, REALLOCARRAY, ALIGNED, MEMALIGN, POSIX, VALLOC, PVALLOC, ENTRIES };
static const char *const names[] = {"malloc(%zu)",
                                    "calloc(1, %zu)",
                                    "calloc(%zu, 1)",
                                    "realloc(NULL, %zu)",
                                    "reallocarray(NULL, %zu, 1)",
                                    "aligned_alloc(64, %zu)",
                                    "memalign(32, %zu)",
                                    "posix_memalign(256, %zu)",
                                    "valloc(%zu)",
                                    "pvalloc(%zu)"};

static char *make(enum entry entry, size_t size) {
    void *object = NULL;
    switch (entry) {
    case MALLOC: return malloc(size);
    case CALLOC: return calloc(1, size);
    case CALLOC_MANY: return calloc(size, 1);
    case REALLOC: return realloc(NULL, size);
    case REALLOCARRAY: return reallocarray(NULL, size, 1);
    case ALIGNED: return aligned_alloc(64, size);
    case MEMALIGN: return memalign(32, size);
    case POSIX: return posix_memalign(&object, 256, size) == 0 ? object : NULL;
    case VALLOC: return valloc(size);
    case PVALLOC: return pvalloc(size);
    case ENTRIES: break;
    }
    return NULL;
}

static size_t alignment_of(enum entry entry, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    switch (entry) {
    case ALIGNED: return 64;
    case MEMALIGN: return 32;
    case POSIX: return 256;
    case VALLOC:
    case PVALLOC: return page;
    default: return size < 16 ? 8 : 16;
    }
}

/* Large objects: their ends. */
enum { ENTIRELY = 1 << 18, END = 4096 };

static void mark(char *object, size_t size, uint64_t seed) {
    pattern_fill(object, size <= ENTIRELY ? size : END, seed);
    if (size > ENTIRELY) pattern_fill(object + size - END, END, seed + 1);
}

static bool is_marked(const char *object, size_t size, uint64_t seed) {
    return pattern_holds(object, size <= ENTIRELY ? size : END, seed) &&
           (size <= ENTIRELY || pattern_holds(object + size - END, END, seed + 1));
}

static bool is_clean(const char *object, size_t size) {
    return bytes_are_zero(object, size <= ENTIRELY ? size : END) &&
           (size <= ENTIRELY || bytes_are_zero(object + size - END, END));
}

static void check_one(char *object, enum entry entry, size_t size, uint64_t seed) {
    CHECK(object != NULL);
    CHECK((uintptr_t)object % alignment_of(entry, size) == 0);
    size_t usable = malloc_usable_size(object);
    CHECK(usable >= size);
    if (entry == PVALLOC && (size > 0 || !is_hardened())) CHECK(usable >= (size ? size : 1) + -size % 4096);
    if (entry == CALLOC || entry == CALLOC_MANY) CHECK(is_clean(object, size));
    mark(object, size, seed);
}

/* Twelve times, half of them freed on the way, so that places are used again. */
static void entry_at_size(size_t which, size_t size) {
    enum { COUNT = 12, FEW = 4 };
    enum entry entry = (enum entry)which;
    char *objects[COUNT];
    const size_t count = size <= ENTIRELY ? COUNT : FEW;
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            objects[i] = make(entry, size);
            check_one(objects[i], entry, size, i);
            for (size_t j = 0; j < i; j++) CHECK(objects[j] != objects[i]);
        }
        for (size_t i = 0; i < count; i += 2) {
            CHECK(is_marked(objects[i], size, i));
            free(objects[i]);
            objects[i] = make(entry, size);
            check_one(objects[i], entry, size, i);
        }
        for (size_t i = 0; i < count; i++) {
            CHECK(is_marked(objects[i], size, i));
            free(objects[i]);
        }
    }
}

static void realloc_between(size_t from, size_t to) {
    size_t kept = from < to ? from : to;
    char *object = malloc(from), *neighbour = malloc(from);
    pattern_fill(object, from, 1);
    pattern_fill(neighbour, from, 2);
    object = realloc(object, to);
    CHECK(object != NULL && pattern_holds(object, kept, 1) && malloc_usable_size(object) >= to);
    pattern_fill(object, to, 3);
    object = reallocarray(object, from ? from : 1, 1);
    CHECK(object != NULL && pattern_holds(object, kept, 3));
    CHECK(pattern_holds(neighbour, from, 2));
    free(object);
    free(neighbour);
}

static void realloc_of_aligned(size_t alignment, size_t size) {
    char *object = memalign(alignment, size);
    CHECK(object != NULL && (uintptr_t)object % alignment == 0);
    pattern_fill(object, size, 1);
    CHECK((object = realloc(object, size * 3)) != NULL && pattern_holds(object, size, 1));
    CHECK((object = realloc(object, size / 2 + 1)) != NULL && pattern_holds(object, size / 2, 1));
    free(object);
}

static void alignment_and_size(size_t alignment, size_t size) {
    void *object = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK(posix_memalign(&object, alignment, size) == 0 && (uintptr_t)object % alignment == 0);
        pattern_fill(object, size, 1);
        char *other = aligned_alloc(alignment, size), *third = memalign(alignment, size);
        CHECK(other != NULL && (uintptr_t)other % alignment == 0 && malloc_usable_size(other) >= size);
        CHECK(third != NULL && (uintptr_t)third % alignment == 0);
        pattern_fill(other, size, 2);
        CHECK(pattern_holds(object, size, 1));
        free(object);
        free(third);
        free(other);
    }
}

/* glibc rounds these up. */
static void memalign_rounds_up(size_t alignment, size_t size) {
    size_t power = 1;
    while (power < alignment) power *= 2;
    char *object = memalign(alignment, size);
    CHECK(object != NULL && (uintptr_t)object % power == 0);
    free(object);
}

static void zero_again(size_t size, size_t unused) {
    (void)unused;
    for (int i = 0; i < (size <= ENTIRELY ? 20 : 3); i++) {
        char *dirty = malloc(size);
        memset(dirty, 0xff, size);
        free(dirty);
        char *clean = calloc(1, size);
        CHECK(bytes_are_zero(clean, size));
        memset(clean, 0xee, size);
        free(clean);
    }
}

void add_sizes(void) {
    static const size_t resized[] = {1, 24, 500, 2000, 3000, 14336, 40000, 300000, 5 * MB, 9 * MB};
    enum { RESIZED = sizeof resized / sizeof *resized };
    for (size_t entry = 0; entry < ENTRIES; entry++)
        for (size_t i = 0; i < SIZES; i++) {
            char name[64];
            snprintf(name, sizeof name, names[entry], sizes[i]);
            add(name, entry_at_size, entry, sizes[i]);
        }
    for (size_t i = 0; i < RESIZED; i++)
        for (size_t j = 0; j < RESIZED; j++)
            if (i != j) add("realloc from %zu to %zu", realloc_between, resized[i], resized[j]);
    for (size_t alignment = sizeof(void *); alignment <= 64 * MB; alignment *= 2) {
        add("alignment %zu, %zu byte", alignment_and_size, alignment, 1);
        add("alignment %zu, %zu bytes", alignment_and_size, alignment, 5000);
    }
    for (size_t alignment = 64; alignment <= 8 * MB; alignment *= 8)
        add("realloc of aligned %zu, %zu bytes", realloc_of_aligned, alignment, 3000);
    for (size_t alignment = 0; alignment < 300; alignment += 37)
        add("memalign(%zu, %zu)", memalign_rounds_up, alignment, 100);
    for (size_t i = 1; i < SIZES; i += 3) add("calloc of %zu used bytes", zero_again, sizes[i], 0);
}
