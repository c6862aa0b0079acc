/* huge_waits.c - freed huge objects wait for the next ones, and go when they must.
 *
 *   huge_waits          pairs without system calls, contents, calloc, sized free, malloc_trim
 *   huge_waits idle     what waits is gone after some rounds: waits for it (ctest's timeout is the limit)
 *   huge_waits replaced     large objects of random sizes: most pages serve again, in a program with one thread
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tiers.h"

#define MB ((size_t)1 << 20)

static unsigned long system_calls(void) {
    static char text[1 << 16];
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    CHECK(file != NULL && malloc_info(0, file) == 0);
    fclose(file);
    const char *place = strstr(text, "<system_calls>");
    CHECK(place != NULL);
    return strtoul(place + strlen("<system_calls>"), NULL, 10);
}

/* `kept`: the object is small enough to wait with all its memory, so nothing has to be given back. Else its end is
 * unmapped and mapped again each time. */
static void pairs_need_no_mapping(size_t size, bool kept) {
    enum { TIMES = 200 };
    free(malloc(size));
    unsigned long before = system_calls();
    for (size_t i = 0; i < TIMES; i++) {
        char *object = malloc(size);
        CHECK(object != NULL && malloc_usable_size(object) >= size);
        object[0] = object[size - 1] = (char)i;
        free(object);
    }
    unsigned long calls = system_calls() - before;
    printf("%d pairs of %zu bytes: %lu system calls\n", TIMES, size, calls);
    CHECK(calls <= (kept ? TIMES / 10 : 2 * TIMES + TIMES / 10));
}

static void zeroed_again(size_t size) {
    for (size_t i = 0; i < 4; i++) {
        size_t asked = size - i * size / 40; /* the last one may get a mapping that is larger */
        char *object = calloc(1, asked);
        CHECK(object != NULL);
        for (size_t byte = 0; byte < malloc_usable_size(object); byte++) CHECK(object[byte] == 0);
        memset(object, 0xee, malloc_usable_size(object));
        if (free_sized && i % 2) free_sized(object, asked);
        else free(object);
    }
}

static void replaced_at_random(void) {
    enum { OBJECTS = 6, TIMES = 200 };
    char *objects[OBJECTS] = {NULL};
    size_t sizes[OBJECTS] = {0}, tags[OBJECTS] = {0};
    unsigned seed = 1;
    for (size_t i = 0; i < TIMES + OBJECTS; i++) {
        size_t slot = i < TIMES ? (seed >> 16) % OBJECTS : i - TIMES;
        CHECK(!objects[slot] || pattern_holds(objects[slot], sizes[slot], tags[slot]));
        free(objects[slot]);
        seed = seed * 1103515245u + 12345u;
        sizes[slot] = 4 * MB + seed % (8 * MB);
        tags[slot] = i;
        objects[slot] = i < TIMES ? malloc(sizes[slot]) : NULL;
        if (objects[slot]) pattern_fill(objects[slot], sizes[slot], i);
    }
}

static size_t left_of(size_t before) {
    size_t now = resident_bytes();
    return now > before ? now - before : 0;
}

static size_t page_faults(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (size_t)usage.ru_minflt;
}

/* Returns the number of pages. */
static size_t write_pages(char *object, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t byte = 0; byte < size; byte += page) object[byte] = 1;
    return (size + page - 1) / page;
}

static void written_and_freed(size_t size) {
    char *object = malloc(size);
    CHECK(object != NULL);
    memset(object, 1, size);
    free(object);
}

/* No range with pages is there: the mapping of a freed huge object serves. */
static void large_objects_get_its_pages(void) {
    enum { TIMES = 40 };
    char *object = malloc(5 * MB);
    write_pages(object, 5 * MB);
    free(object);
    size_t before = page_faults(), pages = 0;
    for (size_t i = 0; i < TIMES; i++) {
        size_t size = 4 * MB - 70 * i * 1024;
        object = i % 4 == 3 ? calloc(1, size) : malloc(size);
        CHECK(object != NULL && malloc_usable_size(object) >= size);
        if (malloc_good_size) CHECK(malloc_usable_size(object) >= malloc_good_size(size));
        if (i % 4 == 3)
            for (size_t byte = 0; byte < size; byte++) CHECK(object[byte] == 0);
        pages += write_pages(object, size);
        if (free_sized && i % 2) free_sized(object, size);
        else free(object);
    }
    size_t faults = page_faults() - before;
    printf("%d large objects of %zu pages after a huge one: %zu page faults\n", TIMES, pages, faults);
    CHECK(faults <= pages / 100);
    malloc_trim(0);
    written_and_freed(4 * MB + 400 * 1024); /* serves as it is: a tenth larger than the range would be */
    CHECK((object = malloc(3600 * 1024)) != NULL);
    if (free_sized) free_sized(object, 3600 * 1024);
    else free(object);
    object = malloc(2 * MB);
    pattern_fill(object, 2 * MB, 1);
    CHECK((object = realloc(object, 3 * MB)) != NULL && pattern_holds(object, 2 * MB, 1));
    pattern_fill(object, 3 * MB, 2);
    CHECK((object = realloc(object, MB)) != NULL && pattern_holds(object, MB, 2));
    free(object);
}

static void large_ones_replaced(void) {
    enum { OBJECTS = 20, TIMES = 2000 };
    char *objects[OBJECTS] = {NULL};
    unsigned seed = 1;
    size_t before = page_faults(), pages = 0;
    for (size_t i = 0; i < TIMES; i++) {
        seed = seed * 1103515245u + 12345u;
        char **object = &objects[(seed >> 16) % OBJECTS];
        free(*object);
        seed = seed * 1103515245u + 12345u;
        size_t size = (100 + (seed >> 16) % 3900) * 1024;
        CHECK((*object = malloc(size)) != NULL);
        pages += write_pages(*object, size);
    }
    size_t faults = page_faults() - before;
    printf("%d objects of %zu pages, replaced at random: %zu page faults\n", TIMES, pages, faults);
    CHECK(faults <= pages / 5);
}

/* calloc must not write to all of a waiting mapping: the program may need little of it. */
static void little_is_used(size_t before) {
    enum { OBJECTS = 4, TIMES = 60 };
    char *objects[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++) CHECK((objects[i] = malloc((20 + i % 2 * 10) * MB)) != NULL);
    for (size_t i = 0; i < TIMES; i++) {
        free(objects[i % OBJECTS]);
        size_t size = (20 + i % 3 * 5) * MB;
        char *object = objects[i % OBJECTS] = calloc(1, size);
        CHECK(object != NULL && object[0] == 0 && object[size / 2] == 0 && object[size - 1] == 0);
        object[size / 2] = 1;
        CHECK(left_of(before) <= 10 * MB);
    }
    for (size_t i = 0; i < OBJECTS; i++) free(objects[i]);
}

/* What waited while more was in use goes with the last frees: there is no thread, and no round after them. */
static void all_is_freed(size_t before) {
    enum { OBJECTS = 8 };
    char *objects[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = memset(malloc(20 * MB), 1, 20 * MB);
    for (size_t i = 0; i < OBJECTS; i++) free(objects[i]);
    printf("all freed: %zu bytes more than before\n", left_of(before));
    CHECK(left_of(before) <= 10 * MB);
}

static size_t addresses(void) {
    char text[64] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    fclose(file);
    return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Of a mapping whose memory may not wait, the addresses do not wait either: limits count them. */
static void addresses_go_with_the_memory(void) {
    enum { OBJECTS = 3 };
    size_t before = 0;
    for (int turn = 0; turn < 2; turn++) { /* in the first one the tables grow */
        char *objects[OBJECTS];
        for (size_t i = 0; i < OBJECTS; i++) CHECK((objects[i] = malloc(60 * MB)) != NULL);
        write_pages(objects[0], 60 * MB);
        for (size_t i = 0; i < OBJECTS; i++) free(objects[i]);
        if (turn == 0) {
            malloc_trim(0);
            before = addresses();
        }
    }
    size_t now = addresses();
    printf("60 MB objects freed: addresses of %zu KB, with all given back %zu\n", now >> 10, before >> 10);
    CHECK(now <= before + 10 * MB);
    malloc_trim(0);
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!under_jwmalloc()) check_skip("the C library's malloc promises none of this");
    malloc_trim(0);
    size_t before = resident_bytes();
    if (count > 1 && strcmp(arguments[1], "idle") == 0) {
        for (size_t size = 5; size <= 8; size++) written_and_freed(size * MB);
        AWAIT(left_of(before) <= MB);
        return 0;
    }
    if (count > 1) {
        large_ones_replaced();
        return 0;
    }
    pairs_need_no_mapping(5 * MB, true);
    malloc_trim(0);
    pairs_need_no_mapping(8 * MB - 65536, true);
    malloc_trim(0);
    pairs_need_no_mapping(64 * MB, false);
    if (sizeof(void *) > 4) large_objects_get_its_pages();
    malloc_trim(0);
    zeroed_again(6 * MB);
    zeroed_again(20 * MB);
    replaced_at_random();
    malloc_trim(0);
    little_is_used(before);
    all_is_freed(before);
    addresses_go_with_the_memory();
    for (size_t size = 5; size <= 64; size *= 2) {
        written_and_freed(size * MB);
        CHECK(resident_bytes() == 0 || left_of(before) <= 10 * MB); /* cache_min, as there is no thread */
    }
    written_and_freed(7 * MB);
    malloc_trim(0);
    printf("after malloc_trim: %zu bytes more than before\n", left_of(before));
    CHECK(left_of(before) <= MB);
    return 0;
}
