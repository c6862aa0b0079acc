/* limits.c - sizes and alignments that cannot be, products that overflow; errno set, and kept. */
#include "cases.h"

#include <limits.h>
#include <sys/mman.h>

static void expect_no_memory(void *object) {
    CHECK(object == NULL);
    CHECK(errno == ENOMEM);
    errno = 0;
}

static void impossible(size_t size, size_t unused) {
    (void)unused;
    errno = 0;
    expect_no_memory(malloc(size));
    expect_no_memory(calloc(1, size));
    expect_no_memory(calloc(size, 1));
    expect_no_memory(calloc(size, 16));
    expect_no_memory(realloc(NULL, size));
    expect_no_memory(reallocarray(NULL, size, 1));
    expect_no_memory(reallocarray(NULL, 1, size));
    expect_no_memory(valloc(size));
    expect_no_memory(pvalloc(size));
    for (size_t alignment = 8; alignment <= 64 * MB; alignment *= 2) {
        void *untouched = &untouched;
        expect_no_memory(aligned_alloc(alignment, size));
        expect_no_memory(memalign(alignment, size));
        CHECK(posix_memalign(&untouched, alignment, size) == ENOMEM && untouched == &untouched);
    }
    errno = 0;
    tiers_work(1);
}

static void realloc_to_impossible(size_t size, size_t from) {
    char *object = malloc(from);
    pattern_fill(object, from, 1);
    errno = 0;
    expect_no_memory(realloc(object, size));
    expect_no_memory(reallocarray(object, size, 1));
    expect_no_memory(reallocarray(object, SIZE_MAX / 2, 3));
    CHECK(pattern_holds(object, from, 1));
    free(object);
}

static void overflow(size_t a, size_t b) {
    char *object = malloc(100);
    pattern_fill(object, 100, 1);
    errno = 0;
    expect_no_memory(calloc(a, b));
    expect_no_memory(calloc(b, a));
    expect_no_memory(reallocarray(NULL, a, b));
    expect_no_memory(reallocarray(object, b, a));
    CHECK(pattern_holds(object, 100, 1));
    free(object);
}

static void bad_alignment(size_t alignment, size_t unused) {
    (void)unused;
    void *untouched = &untouched;
    errno = 4711;
    CHECK(posix_memalign(&untouched, alignment, 100) == EINVAL);
    CHECK(untouched == &untouched && errno == 4711);
}

static void alignment_beyond_all(size_t alignment, size_t unused) {
    (void)unused;
    void *untouched = &untouched;
    errno = 0;
    CHECK(memalign(alignment, 100) == NULL && (errno == EINVAL || errno == ENOMEM));
    if ((alignment & (alignment - 1)) == 0)
        CHECK(posix_memalign(&untouched, alignment, 100) != 0 && untouched == &untouched);
}

static void realloc_to_nothing(size_t from, size_t unused) {
    (void)unused;
    free(malloc(from));
    free_until_steady(from);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 100; i++) {
        void *object = malloc(from);
        errno = 4711;
        CHECK(realloc(object, 0) == NULL && errno == 4711);
    }
    CHECK(mallinfo2().uordblks < before + 50 * from + 10000);
}

static void nothing_twice(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    void *objects[] = {malloc(0),           calloc(0, 0),     calloc(0, SIZE_MAX),
                       calloc(SIZE_MAX, 0), realloc(NULL, 0), reallocarray(NULL, 0, SIZE_MAX)};
    enum { COUNT = sizeof objects / sizeof *objects };
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j <= i; j++) CHECK(objects[i] != NULL && (i == j || objects[i] != objects[j]));
    for (size_t i = 0; i < COUNT; i++) free(objects[i]);
    free(NULL);
    CHECK(malloc_usable_size(NULL) == 0);
}

void add_limits(void) {
    const size_t sizes[] = {SIZE_MAX,        SIZE_MAX - 1,        SIZE_MAX - 7,    SIZE_MAX - 15,     SIZE_MAX - 16,
                            SIZE_MAX - 4094, SIZE_MAX - 4095,     SIZE_MAX - 4096, SIZE_MAX - 8 * MB, SIZE_MAX / 2 + 1,
                            SIZE_MAX / 2,    SIZE_MAX / 2 - 4096, SIZE_MAX / 4};
    const size_t half = (size_t)1 << sizeof(size_t) * 4;
    const size_t factors[][2] = {{half, half},          {half + 1, half},        {SIZE_MAX, 2},
                                 {SIZE_MAX, SIZE_MAX},  {SIZE_MAX / 2, 3},       {SIZE_MAX / 3 + 1, 3},
                                 {SIZE_MAX / 8 + 1, 8}, {SIZE_MAX / 16 + 2, 16}, {SIZE_MAX / 2 + 1, 2}};
    const size_t tiers[] = {1, 100, 3000, 20000, 5 * MB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add("impossible size %zx", impossible, sizes[i], 0);
        add("realloc to %zx from %zu", realloc_to_impossible, sizes[i], tiers[i % 5]);
    }
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        add("product %zx * %zx", overflow, factors[i][0], factors[i][1]);
    const size_t alignments[] = {0, 1, 2, 4, 3, 7, 12, 24, 40, 48, 63, 4095, 4104, SIZE_MAX, SIZE_MAX - 7};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
        add("bad alignment %zx", bad_alignment, alignments[i], 0);
    add("alignment beyond all %zx", alignment_beyond_all, SIZE_MAX / 2 + 1, 0);
    add("alignment beyond all %zx", alignment_beyond_all, SIZE_MAX, 0);
    for (size_t i = 0; i < 5; i++) add("realloc(%zu bytes, 0)", realloc_to_nothing, tiers[i], 0);
    add("objects of size 0", nothing_twice, 0, 0);
}

/* --- errno */

static void free_keeps_errno(size_t size, size_t unused) {
    (void)unused;
    void *objects[64];
    for (size_t i = 0; i < 64; i++) CHECK((objects[i] = malloc(size)) != NULL);
    for (size_t i = 0; i < 64; i++) {
        errno = 4711;
        free(objects[i]);
        CHECK(errno == 4711);
    }
    free(NULL);
    CHECK(errno == 4711);
}

/* Every second page of an area protected: the kernel splits no mapping any more. */
static char *use_up_mappings(size_t *area_size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page * 2 * 70000;
    char *area = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(area != MAP_FAILED);
    for (size_t at = 0; at < size; at += 2 * page)
        if (mprotect(area + at, page, PROT_NONE) != 0) {
            *area_size = size;
            return area;
        }
    check_skip("there is no limit of mappings");
    return NULL;
}

static void free_at_the_limit_of_mappings(size_t size, size_t unused) {
    (void)unused;
    enum { COUNT = 20 };
    void *objects[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        CHECK((objects[i] = malloc(size)) != NULL);
        memset(objects[i], 1, size);
    }
    size_t area_size = 0;
    char *area = use_up_mappings(&area_size);
    for (size_t i = 1; i < COUNT; i += 2) {
        errno = 4711;
        free(objects[i]);
        CHECK(errno == 4711);
    }
    for (size_t i = 0; i < COUNT; i += 2) CHECK(((char *)objects[i])[size - 1] == 1);
    errno = 0;
    void *grown = realloc(objects[0], size * 2);
    CHECK(grown != NULL ? ((char *)grown)[size - 1] == 1 : errno == ENOMEM);
    for (int i = 0; i < 1000; i++) free(malloc(100));
    for (size_t i = 2; i < COUNT; i += 2) free(objects[i]);
    CHECK(munmap(area, area_size) == 0);
    tiers_work(1);
}

static void success_keeps_errno(size_t size, size_t unused) {
    (void)unused;
    void *object;
    errno = 4711;
    CHECK(posix_memalign(&object, 64, size) == 0 && errno == 4711);
    free(object);
    CHECK(errno == 4711);
    malloc_usable_size(object = malloc(size));
    free(object);
    mallinfo2();
    malloc_trim(0);
    CHECK(errno == 4711);
}

static void failure_keeps_errno(size_t size, size_t unused) {
    (void)unused;
    void *object = NULL;
    errno = 4711;
    int result = posix_memalign(&object, 64, size);
    CHECK(result == ENOMEM && object == NULL);
}

void add_errno(void) {
    const size_t sizes[] = {1, 100, 2000, 3000, 14336, 20000, 200000, MB, 5 * MB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add("free of %zu bytes keeps errno", free_keeps_errno, sizes[i], 0);
        add("no failure of %zu bytes changes errno", success_keeps_errno, sizes[i], 0);
    }
    add("posix_memalign of %zx bytes fails", failure_keeps_errno, SIZE_MAX / 2, 0);
    add("free of %zu bytes at the limit of mappings", free_at_the_limit_of_mappings, 200000, 0);
    add("free of %zu bytes at the limit of mappings", free_at_the_limit_of_mappings, 6 * MB, 0);
}
