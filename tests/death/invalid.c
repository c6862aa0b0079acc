/* invalid.c - addresses at which no object begins: given to free, realloc and malloc_usable_size. */
#include "death.h"

#include <dlfcn.h>
#include <sys/mman.h>

#define FREE "invalid free"
#define POINTER "invalid pointer"
#define FOREIGN "not allocated here"
#define INSIDE "inside an object"
#define BETWEEN "between objects"

static void free_foreign(void *address) {
    expect_nothing(FREE, address, FOREIGN);
    free(address);
}

static void free_of_stack(size_t offset) {
    char local[64] = {0};
    free_foreign((char *)((uintptr_t)local & ~(uintptr_t)15) + offset);
}

static void free_of_static(size_t offset) {
    static _Alignas(16) char area[256];
    free_foreign(area + offset);
}

static void free_of_code(size_t offset) {
    free_foreign((void *)(((uintptr_t)&free_of_code & ~(uintptr_t)15) + offset));
}

static void free_of_low_address(size_t address) {
    free_foreign((void *)(uintptr_t)address);
}

static void free_of_high_address(size_t below) {
    free_foreign((void *)(UINTPTR_MAX - below));
}

static void free_of_own_mapping(size_t offset) {
    char *pages = mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    free_foreign(pages + offset);
}

#ifdef __GLIBC__
/* glibc's own malloc, which is still there. */
static void free_of_libc_object(size_t size) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY), *(*own)(size_t size);
    CHECK(libc != NULL);
    *(void **)&own = dlsym(libc, "malloc");
    CHECK(own != NULL && own != malloc);
    free_foreign(own(size));
}
#endif

static void realloc_of_stack(size_t size) {
    _Alignas(16) char local[64] = {0};
    expect_nothing(POINTER, local, FOREIGN);
    CHECK(realloc(local, size) == NULL);
}

static void usable_size_of_static(size_t offset) {
    static _Alignas(16) char area[256];
    expect_nothing(POINTER, area + offset, FOREIGN);
    CHECK(malloc_usable_size(area + offset) == 0);
}

static void free_inside(size_t size, size_t offset) {
    char *bytes = object(size);
    expect_object(FREE, bytes + offset, bytes, INSIDE);
    free(bytes + offset);
}

static void free_of_second_byte(size_t size) {
    free_inside(size, 1);
}

static void free_of_middle(size_t size) {
    free_inside(size, (size / 2 + 15) & ~(size_t)15);
}

/* free reads bytes 4 to 7 from the address on: here those of the next object. If they are a part of its link, they look
 * like a link in one of 256 processes, and the free is not seen (docs/misuse.md). At a
 * page's end they may be unmapped. */
static void free_of_last_byte(size_t size) {
    char *bytes = object(size);
    while (size <= 2048 && ((uintptr_t)bytes + size) % 4096 == 0) bytes = object(size);
    uint32_t read = 0;
    if (size <= 2048) memcpy(&read, bytes + size + 3, sizeof read);
    if (read >= 0xffff0000u) _exit(NEEDS_ANOTHER_KEY);
    expect_object(FREE, bytes + size - 1, bytes, INSIDE);
    free(bytes + size - 1);
}

static void free_inside_elsewhere(size_t size) {
    char *bytes = object(size);
    expect_object(FREE, bytes + 8, bytes, INSIDE);
    free_elsewhere(bytes + 8);
}

static void free_inside_aligned(size_t size) {
    char *bytes = aligned_alloc(256 * KB, size);
    expect_object(FREE, bytes + 64 * KB, bytes, INSIDE);
    free(bytes + 64 * KB);
}

static void free_inside_of_ended_thread(size_t size) {
    char *bytes = object_from_elsewhere(size);
    expect(FREE, bytes + 8, "small", malloc_usable_size(bytes), ENDED, INSIDE);
    free(bytes + 8);
}

static int by_address(const void *one, const void *other) {
    uintptr_t a = (uintptr_t) * (char *const *)one, b = (uintptr_t) * (char *const *)other;
    return a < b ? -1 : a > b;
}

/* Before the next slab's first object, where that is farther away than the next object would be. */
static void free_behind_the_last(size_t offset) {
    enum { MANY = 500 };
    char *objects[MANY];
    for (size_t i = 0; i < MANY; i++) objects[i] = object(1300);
    qsort(objects, MANY, sizeof *objects, by_address);
    ptrdiff_t step = objects[1] - objects[0]; /* the least */
    for (size_t i = 0; i + 1 < MANY; i++)
        if (objects[i + 1] - objects[i] < step) step = objects[i + 1] - objects[i];
    size_t last = 0;
    while (last + 1 < MANY &&
           (objects[last + 1] - objects[last] <= step || objects[last + 1] - objects[last] >= 2 * step))
        last++;
    CHECK(last + 1 < MANY);
    expect_object(FREE, objects[last + 1] - offset, objects[last], BETWEEN);
    free(objects[last + 1] - offset);
}

static void realloc_inside(size_t size) {
    char *bytes = object(size);
    expect_object(POINTER, bytes + 16, bytes, INSIDE);
    CHECK(realloc(bytes + 16, 100) == NULL);
}

static void usable_size_inside(size_t size) {
    char *bytes = object(size);
    expect_object(POINTER, bytes + 8, bytes, INSIDE);
    CHECK(malloc_usable_size(bytes + 8) == 0);
}

static void of_freed(size_t size, void (*use)(void *bytes)) {
    char *bytes = object(size);
    expect_object(POINTER, bytes, bytes, "free already");
    free(bytes);
    use(bytes);
}

static void grow(void *bytes) {
    CHECK(realloc(bytes, 20 * MB) == NULL);
}

static void shrink(void *bytes) {
    CHECK(realloc(bytes, 1) == NULL);
}

static void ask(void *bytes) {
    CHECK(malloc_usable_size(bytes) == 0);
}

static void realloc_of_freed(size_t size) {
    of_freed(size, grow);
}

static void realloc_down_of_freed(size_t size) {
    of_freed(size, shrink);
}

static void usable_size_of_freed(size_t size) {
    of_freed(size, ask);
}

#define ALL_TIERS                                                                                                      \
    { 160, 2 * KB, 5 * KB, 14 * KB, 256 * KB, 9 * MB }

const struct death invalid_deaths[] = {
    {"free_of_stack", free_of_stack, {16, 1, 8}},
    {"free_of_static", free_of_static, {16, 1, 8}},
    {"free_of_code", free_of_code, {16, 1}},
    {"free_of_low_address", free_of_low_address, {16, 1, 4096}},
    {"free_of_high_address", free_of_high_address, {4095, 15}},
    {"free_of_own_mapping", free_of_own_mapping, {4 * KB, 16, 4 * MB}},
#ifdef __GLIBC__
    {"free_of_libc_object", free_of_libc_object, {100, 300 * KB}},
#endif
    {"realloc_of_stack", realloc_of_stack, {100}},
    {"usable_size_of_static", usable_size_of_static, {16, 1}},
    {"free_of_second_byte", free_of_second_byte, ALL_TIERS},
    {"free_of_middle", free_of_middle, ALL_TIERS},
    {"free_of_last_byte", free_of_last_byte, ALL_TIERS},
    {"free_inside_elsewhere", free_inside_elsewhere, ALL_TIERS},
    {"free_inside_aligned", free_inside_aligned, {300 * KB, 9 * MB}},
    {"free_inside_of_ended_thread", free_inside_of_ended_thread, {160}},
    {"free_behind_the_last", free_behind_the_last, {16, 1}},
    {"realloc_inside", realloc_inside, ALL_TIERS},
    {"usable_size_inside", usable_size_inside, ALL_TIERS},
    {"realloc_of_freed", realloc_of_freed, ALL_TIERS},
    {"realloc_down_of_freed", realloc_down_of_freed, ALL_TIERS},
    {"usable_size_of_freed", usable_size_of_freed, ALL_TIERS},
    {0},
};
