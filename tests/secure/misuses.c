/* misuses.c CASE - programs that misuse memory, after the ideas of hardened_malloc's tests, and attacks that use
 * such mistakes. promises.py says how each must end on the hardened build.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

enum { SMALL = 16, LARGE = 128 * 1024, MANY = 20000 };

static volatile char seen;

static void churn(size_t size) {
    for (unsigned i = 0; i < 100000; i++) free(malloc(size));
}

/* Double frees. */
static void double_free(size_t size, unsigned between) {
    char *bytes = object(size), *others[100];
    for (unsigned i = 0; i < between; i++) others[i] = object(size);
    free(bytes);
    for (unsigned i = 0; i < between; i++) free(others[i]);
    free(bytes);
}
static void double_free_small(void) {
    double_free(SMALL, 0);
}
static void double_free_small_delayed(void) {
    double_free(SMALL, 100);
}
static void double_free_large(void) {
    double_free(LARGE, 0);
}
static void double_free_large_delayed(void) {
    double_free(LARGE, 20);
}
static void double_free_huge(void) {
    double_free(5 << 20, 0);
}
static void double_free_zero_size(void) {
    char *bytes = malloc(0);
    free(bytes);
    free(bytes);
}

/* Overflows. */

/* The lower one of the two objects that are closest to each other. *least: bytes from one to the other. */
static char *closest(char **objects, unsigned count, size_t *least) {
    char *lower = NULL;
    *least = SIZE_MAX;
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < i; j++) {
            char *low = objects[i] < objects[j] ? objects[i] : objects[j];
            size_t distance = (size_t)(low == objects[i] ? objects[j] - low : objects[i] - low);
            if (distance < *least) *least = distance, lower = low;
        }
    return lower;
}
/* The lower one of two objects side by side: the plain build may place a lone large object where its memory ends. */
static char *object_before_another(size_t size) {
    char *objects[8];
    size_t least;
    for (unsigned i = 0; i < 8; i++) objects[i] = object(size);
    return closest(objects, 8, &least);
}
static void overflow_by_eight(size_t size) {
    char *bytes = object_before_another(size);
    memset(bytes + size, 0, 8);
    free(bytes);
}
static void eight_byte_overflow_small(void) {
    overflow_by_eight(8);
}
static void eight_byte_overflow_large(void) {
    overflow_by_eight(LARGE);
}
/* To the guard: at once. */
static void overflow_far_large(void) {
    memset(object_before_another(LARGE) + LARGE, 0, LARGE);
}
/* The guard is there again when the range has another object. No byte of the object behind it is written. */
static void overflow_far_large_again(void) {
    static char *objects[200];
    size_t least;
    for (unsigned i = 0; i < 200; i++) objects[i] = object(LARGE);
    for (unsigned i = 0; i < 200; i++) free(objects[i]);
    for (unsigned i = 0; i < 130; i++) objects[i] = object(LARGE);
    char *lower = closest(objects, 130, &least);
    memset(lower + LARGE, 0, least - LARGE);
}
static void overflow_far_huge(void) {
    char *bytes = object(5 << 20);
    memset(bytes + (5 << 20), 0, 2 * 65536);
}

/* Addresses that are no objects. */
static void invalid_free_protected(void) {
    char *pages = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    free(object(SMALL));
    free(pages + 4096);
}
static void invalid_free_unprotected(void) {
    char *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    free(object(SMALL));
    free(pages + 4096);
}
static void invalid_free_near(void) {
    free(object(SMALL) + (1 << 20));
}
static void invalid_free_far(void) {
    free(object(SMALL) + ((size_t)1 << (sizeof(size_t) == 8 ? 34 : 30)));
}
static void unaligned_free_small(void) {
    free(object(SMALL) + 1);
}
static void unaligned_free_large(void) {
    free(object(LARGE) + 1);
}
static void unaligned_usable_size(void) {
    seen = (char)malloc_usable_size(object(SMALL) + 1);
}
static void usable_size_after_free(void) {
    char *bytes = object(SMALL);
    free(bytes);
    seen = (char)malloc_usable_size(bytes);
}
static void usable_size_of_reused(void) {
    char *bytes = object(SMALL);
    free(bytes);
    for (unsigned i = 0; i < 50; i++) free(object(SMALL));
    seen = (char)malloc_usable_size(bytes);
}
static void uninitialized_free(void) {
    free(object(SMALL)), free((void *)(uintptr_t)0x1234567890);
}
static void uninitialized_realloc(void) {
    free(object(SMALL)), free(realloc((void *)(uintptr_t)0x1234567890, SMALL));
}
static void uninitialized_usable_size(void) {
    free(object(SMALL)), seen = (char)malloc_usable_size((void *)(uintptr_t)0x1234567890);
}
static void wrong_size(void) {
    extern void free_sized(void *, size_t) __attribute__((weak));
    if (free_sized) free_sized(object(SMALL), 2 * SMALL);
}

/* Reads. What is read is zero, or there is a fault. */
static void read_after_free(size_t size) {
    char *bytes = object(size);
    free(bytes);
    for (size_t i = 0; i < size; i++) seen |= bytes[i];
    show(seen == 0);
}
static void read_after_free_small(void) {
    read_after_free(SMALL);
}
static void read_after_free_mid(void) {
    read_after_free(12000);
}
static void read_after_free_kept(void) {
    read_after_free(20000);
}
static void read_after_free_large(void) {
    read_after_free(LARGE);
}
/* The object has left the quarantine, but no other one has its range. */
static void read_after_free_large_late(void) {
    char *bytes = object(LARGE);
    free(bytes);
    for (unsigned i = 0; i < 200; i++) free(object(4 * LARGE));
    seen = bytes[LARGE / 2];
}
static void read_after_free_huge(void) {
    read_after_free(5 << 20);
}
static void uninitialized_read(size_t size) {
    static char *objects[2000];
    unsigned count = size > 100000 ? 20 : 2000;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < count; i++) objects[i] = object(size);
        for (unsigned i = 0; i < count; i++) free(objects[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        char *bytes = malloc(size);
        for (size_t at = 0; at < size; at++) seen |= bytes[at];
    }
    show(seen == 0);
}
static void uninitialized_read_small(void) {
    uninitialized_read(SMALL);
}
static void uninitialized_read_mid(void) {
    uninitialized_read(9000);
}
static void uninitialized_read_large(void) {
    uninitialized_read(LARGE);
}
/* A huge object that grows has a new end; the old one's fill and trailer are inside it. */
static void uninitialized_read_resized(void) {
    const size_t before = (5 << 20) + 100, after = 9 << 20;
    char *bytes = realloc(object(before), after);
    for (size_t at = before; at < after; at++) seen |= bytes[at];
    show(seen == 0);
}
/* So it does where the object stays in its place: the first growth has left room behind it. */
static void uninitialized_read_grown(void) {
    enum { STEP = 300000, STEPS = 6 };
    size_t before = 10 << 20;
    char *bytes = object(before);
    for (int i = 0; i < STEPS; i++, before += STEP) {
        bytes = realloc(bytes, before + STEP);
        for (size_t at = before; at < before + STEP; at++) seen |= bytes[at];
        memset(bytes + before, 1, STEP);
    }
    show(seen == 0);
}
/* It becomes smaller, by less than its last page, then grows: no old contents. */
static void uninitialized_read_cut(void) {
    const size_t page = 5 << 20, cut = page - 2000, after = 6 << 20;
    char *bytes = realloc(realloc(object(page - 4), cut), after);
    for (size_t at = cut; at < after; at++) seen |= bytes[at];
    show(seen == 0);
}
static void read_zero_size(void) {
    char *bytes = malloc(0);
    seen = bytes[0];
}
static void write_zero_size(void) {
    volatile char *bytes = malloc(0);
    bytes[0] = 5;
}
static void write_zero_size_resized(void) {
    char *bytes = realloc(malloc(0), 100);
    memset(bytes, 1, 100);
    free(bytes);
    *(volatile char *)calloc(0, 100) = 5;
}
/* With an alignment up to a page's the address is of the same kind. */
static void write_zero_size_aligned(void) {
    volatile char *bytes = NULL;
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        free((char *)bytes);
        bytes = aligned_alloc(alignment, 0);
        CHECK((uintptr_t)bytes % alignment == 0);
    }
    bytes[0] = 5;
}
/* A string without an end ends soon all the same: behind the object at most a canary and the fill are read. */
static void string_overflow(void) {
    bool ends = true;
    for (size_t size = 1; size <= 3000; size += 7) {
        char *bytes = object(size);
        object(size); /* the plain build's next object, without a zero: some sizes have no slack before it */
        ends &= strnlen(bytes, size + 34) <= size + 33;
        memset(bytes + 1, 0, size - 1);
    }
    show(ends);
}

/* Writes after free. */
static void write_after_free(size_t size, size_t offset) {
    char *bytes = object(size);
    free(bytes);
    bytes[offset] = 'z';
    churn(size);
}
static void write_after_free_small(void) {
    write_after_free(SMALL, 0);
}
static void write_after_free_small_end(void) {
    write_after_free(128, 127);
}
static void write_after_free_mid_end(void) {
    write_after_free(8000, 5000);
}
/* The object's memory stays accessible, until it has another object. */
static void write_after_free_kept(void) {
    write_after_free(20000, 12345);
}
/* The size is the midend's, but no mid slab has room for it and its trailer: the object is large. */
static void write_after_free_kept_mid(void) {
    write_after_free(15000, 12345);
}
/* There is no quarantine: what is free waits for its class only. */
static void write_after_free_unkept(void) {
    write_after_free(20000, 12345);
}
static void write_after_free_large(void) {
    write_after_free(LARGE, 65 * 1024 + 1);
}
static void write_after_free_large_reuse(void) {
    char *bytes = object(LARGE), *other;
    free(bytes);
    other = object(LARGE);
    bytes[65 * 1024 + 1] = 'z';
    seen = other[0];
}
static void write_after_free_huge(void) {
    char *bytes = object(5 << 20);
    free(bytes);
    bytes[70000] = 'z';
}
static void write_after_free_small_reuse(void) {
    char *bytes = object(SMALL), *others[MANY / 20];
    free(bytes);
    for (unsigned i = 0; i < MANY / 20; i++) others[i] = object(SMALL);
    bytes[1] = 'z'; /* no object that is in use changes */
    bool same = true;
    for (unsigned i = 0; i < MANY / 20; i++) same &= others[i][1] == 0x5a;
    show(same);
}

/* Writes to an object whose slab has become empty since; then the class gets the slab again. */
static void write_after_free_empty_slab(void) {
    static char *objects[MANY];
    for (unsigned i = 0; i < MANY; i++) objects[i] = object(200);
    for (unsigned i = 0; i < MANY; i++) free(objects[i]);
    ((volatile char *)objects[MANY / 2])[100] = 5;
    for (unsigned i = 0; i < MANY; i++) objects[i] = malloc(200);
}
/* Nor is a write forgotten that comes before a fork, to objects that the child's first free takes out of the
 * quarantine. */
static void write_after_free_before_fork(void) {
    static char *objects[MANY];
    for (unsigned i = 0; i < MANY; i++) objects[i] = object(200);
    for (unsigned i = 0; i < MANY; i++) free(objects[i]);
    for (unsigned i = 0; i < MANY; i++) ((volatile char *)objects[i])[3] ^= 1;
    int status;
    pid_t child = fork();
    if (child == 0) {
        free(malloc(100));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) abort();
}
/* How many frees an object of 64 B waits for, in each of many runs: at least 2,000. */
static void quarantine_is_deep(void) {
    unsigned least = ~0u;
    for (unsigned run = 0; run < 20; run++) {
        char *bytes = malloc(64), *other = NULL;
        free(bytes);
        unsigned frees = 0;
        while (other != bytes && frees < 100000) free(other = malloc(64)), frees++;
        if (frees < least) least = frees;
    }
    show(least >= 2000);
}
/* Two objects that were freed one after the other seldom come back so. Small ones: mid slabs give at random anyway. */
static void quarantine_is_random(void) {
    enum { WATCHED = 64 };
    char *bytes[WATCHED], *other;
    unsigned back = 0, neighbours = 0, last = 2 * WATCHED;
    for (unsigned i = 0; i < WATCHED; i++) bytes[i] = malloc(SMALL);
    for (unsigned i = 0; i < WATCHED; i++) free(bytes[i]);
    for (unsigned i = 0; i < 4 * MANY && back < WATCHED; i++) {
        free(other = malloc(SMALL));
        for (unsigned j = 0; j < WATCHED; j++)
            if (bytes[j] == other) {
                back++;
                neighbours += j + 1 == last || j == last + 1;
                last = j;
                bytes[j] = NULL;
            }
    }
    show(back > WATCHED / 2 && neighbours < back / 2);
}
/* A freed large object does not come back at once. */
static void quarantine_delays_large(void) {
    char *bytes = object(LARGE), *other;
    bool delayed = true;
    free(bytes);
    for (unsigned i = 0; i < 16; i++) {
        delayed &= (other = object(LARGE)) != bytes;
        free(other);
    }
    show(delayed);
}

/* After all objects of one size are freed, none of their addresses is in an object of another size. `trims`:
 * empty slabs have left the thread's pool. */
static bool are_apart(size_t first, size_t second, bool trims) {
    enum { FREED = 4000 };
    static char *freed[FREED];
    unsigned count = first > 65536 ? 100 : FREED;
    for (unsigned i = 0; i < count; i++) freed[i] = object(first);
    for (unsigned i = 0; i < count; i++) free(freed[i]);
    if (trims) malloc_trim(0); /* the quarantine ends, too */
    size_t most = 2 * count * first / second + 100;
    char **kept = calloc(most, sizeof *kept);
    CHECK(kept != NULL);
    bool apart = true;
    for (size_t i = 0; i < most; i++) {
        kept[i] = object(second);
        for (unsigned j = 0; j < count; j += count / 50) apart &= freed[j] < kept[i] || freed[j] >= kept[i] + second;
    }
    for (size_t i = 0; i < most; i++) free(kept[i]);
    free(kept);
    return apart;
}
static void types_stay_apart(void) {
    static const size_t sizes[][2] = {{64, 200},      {400, 48},       {64, 3000},     {3000, 64},
                                      {3000, 9000},   {100000, 64},    {64, 100000},   {5000, 30000},
                                      {20000, 40000}, {300000, 70000}, {70000, 300000}};
    bool apart = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) apart &= are_apart(sizes[i][0], sizes[i][1], true);
    show(apart);
}
static void types_stay_apart_in_pool(void) {
    show(are_apart(400, 48, false));
}

static const struct promise cases[] = {
    CASE(double_free_small),
    CASE(double_free_small_delayed),
    CASE(double_free_large),
    CASE(double_free_large_delayed),
    CASE(double_free_huge),
    CASE(double_free_zero_size),
    CASE(eight_byte_overflow_small),
    CASE(eight_byte_overflow_large),
    CASE(overflow_far_large),
    CASE(overflow_far_large_again),
    CASE(overflow_far_huge),
    CASE(invalid_free_protected),
    CASE(invalid_free_unprotected),
    CASE(invalid_free_near),
    CASE(invalid_free_far),
    CASE(unaligned_free_small),
    CASE(unaligned_free_large),
    CASE(unaligned_usable_size),
    CASE(usable_size_after_free),
    CASE(usable_size_of_reused),
    CASE(uninitialized_free),
    CASE(uninitialized_realloc),
    CASE(uninitialized_usable_size),
    CASE(wrong_size),
    CASE(read_after_free_small),
    CASE(read_after_free_mid),
    CASE(read_after_free_kept),
    CASE(read_after_free_large),
    CASE(read_after_free_large_late),
    CASE(read_after_free_huge),
    CASE(uninitialized_read_small),
    CASE(uninitialized_read_mid),
    CASE(uninitialized_read_large),
    CASE(uninitialized_read_resized),
    CASE(uninitialized_read_grown),
    CASE(uninitialized_read_cut),
    CASE(read_zero_size),
    CASE(write_zero_size),
    CASE(write_zero_size_resized),
    CASE(write_zero_size_aligned),
    CASE(string_overflow),
    CASE(write_after_free_small),
    CASE(write_after_free_small_end),
    CASE(write_after_free_mid_end),
    CASE(write_after_free_kept),
    CASE(write_after_free_kept_mid),
    CASE(write_after_free_unkept),
    CASE(write_after_free_large),
    CASE(write_after_free_large_reuse),
    CASE(write_after_free_huge),
    CASE(write_after_free_small_reuse),
    CASE(write_after_free_empty_slab),
    CASE(write_after_free_before_fork),
    CASE(quarantine_is_deep),
    CASE(quarantine_is_random),
    CASE(quarantine_delays_large),
    CASE(types_stay_apart),
    CASE(types_stay_apart_in_pool),
};

int main(int count, char **arguments) {
    promise_run(count, arguments, cases, sizeof cases / sizeof *cases);
}
