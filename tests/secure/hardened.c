/* hardened.c CASE - what the hardened build promises (docs/hardening.md), case by case. promises.py says how each must
 * end: in a line and an abort, in a fault, or with the exit code that means "the property is there". On the plain build
 * each ends with 0, so each is seen to fail.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "promise.h"

enum { GRANULE = 4096, MOST = 4096 };

/* Frees and allocates until whatever was freed before has been used again. */
static void churn(size_t size) {
    for (unsigned i = 0; i < 200000; i++) free(malloc(size));
}

/* One byte too many, at the end of what was asked for. It changes what is there, as any byte may stand there by chance
 * but the 0 that ends a string. */
static void overflow(size_t size) {
    char *bytes = object(size);
    bytes[size] ^= 1;
    free(bytes);
}
static void overflow_by_zero(size_t size) {
    char *bytes = object(size);
    bytes[size] = 0;
    free(bytes);
}
static void overflow_small(void) {
    overflow(24);
}
static void overflow_small_by_zero(void) {
    overflow_by_zero(24);
}
static void overflow_small_slack(void) {
    overflow_by_zero(20);
}
static void overflow_mid(void) {
    overflow(5000);
}
static void overflow_large(void) {
    overflow_by_zero(100000);
}
static void overflow_grown(void) {
    char *bytes = object(40000);
    for (size_t size = 60000; size < 1 << 20; size += 40000) CHECK((bytes = realloc(bytes, size)) != NULL);
    bytes[1020000] = 0;
    free(bytes);
}
static void overflow_huge(void) {
    overflow_by_zero((size_t)5 << 20 | 100);
}
static void overflow_aligned(void) {
    char *bytes = aligned_alloc(256, 700);
    bytes[700] = 0;
    free(bytes);
}
static void overflow_resized(void) {
    char *bytes = realloc(object(100), 90);
    bytes[90] = 0;
    free(bytes);
}
static void overflow_found_by_realloc(void) {
    char *bytes = object(50);
    bytes[50] = 0;
    CHECK(realloc(bytes, 5000) != NULL);
}

/* Objects of one size in the order of their addresses. */
static char **sorted(size_t size, unsigned count) {
    static char *objects[MOST];
    for (unsigned i = 0; i < count; i++) {
        char *made = object(size);
        unsigned at = i;
        for (; at > 0 && objects[at - 1] > made; at--) objects[at] = objects[at - 1];
        objects[at] = made;
    }
    return objects;
}

/* Found when the object behind is freed, while the one that was too short is still in use. */
static void overflow_into_next(void) {
    char **objects = sorted(120, 200);
    for (unsigned i = 0; i + 1 < 200; i++)
        if (objects[i + 1] - objects[i] == 128) {
            memset(objects[i] + 120, 7, 12);
            free(objects[i + 1]);
            return;
        }
}

/* With a guard behind each slab. */
static void overflow_into_guard(void) {
    char **objects = sorted(1000, 1500);
    memset(objects[700], 0, 2 * GRANULE);
}
static void overflow_into_guard_mid(void) {
    char **objects = sorted(3000, 200);
    memset(objects[100], 0, 5 * GRANULE);
}

static void write_after_free(size_t size, size_t offset) {
    char *bytes = object(size);
    free(bytes);
    bytes[offset] ^= 1;
    churn(size);
}
static void write_after_free_small(void) {
    write_after_free(100, 50);
}
static void write_after_free_start(void) {
    write_after_free(100, 3);
}
/* So many objects are freed that malloc takes none of those that leave the quarantine: the rest goes to the allocator's
 * lists, whose links are in the first bytes. */
static void write_after_free_start_many(void) {
    enum { BEFORE = 3000, AFTER = 10000 };
    static char *others[BEFORE + AFTER];
    char *bytes = object(100);
    for (unsigned i = 0; i < BEFORE + AFTER; i++) others[i] = object(100);
    for (unsigned i = 0; i < BEFORE; i++) free(others[i]);
    free(bytes);
    bytes[3] ^= 1;
    for (unsigned i = BEFORE; i < BEFORE + AFTER; i++) free(others[i]);
}
static void write_after_free_end(void) {
    write_after_free(100, 99);
}
static void write_after_free_mid(void) {
    write_after_free(4000, 2000);
}

/* Without a quarantine: the link in a free object is made to lead to another place, and the object is used again. */
static void forge_link(char *target) {
    char *bytes[2] = {object(100), object(100)};
    free(bytes[0]);
    free(bytes[1]);
    *(void **)bytes[1] = target;
    for (unsigned i = 0; i < 100; i++)
        if (malloc(100) == bytes[1]) return;
    check_failed(__FILE__, __LINE__, "the object is used again");
}
static void forged_link(void) {
    static _Alignas(16) char target[64];
    forge_link(target);
}
static void forged_link_in_heap(void) {
    forge_link(object(100));
}

/* Without a quarantine: behind a free object's bytes, before it is used again. */
static void free_end_written(void) {
    char *bytes = object(104);
    free(bytes);
    bytes[108] ^= 1;
    for (unsigned i = 0; i < 100; i++)
        if (malloc(104) == bytes) return;
    check_failed(__FILE__, __LINE__, "the object is used again");
}

/* Through the quarantine, and out of it. */
static void double_free(void) {
    char *bytes = object(100), *other = object(100);
    free(bytes);
    free(other);
    free(bytes);
}
static void double_free_late(void) {
    char *bytes = object(100), *kept[50];
    free(bytes);
    for (unsigned i = 0; i < 50; i++) kept[i] = object(100);
    free(bytes);
    free(kept[0]);
}
static void *free_it(void *bytes) {
    free(bytes);
    return NULL;
}
static void double_free_elsewhere(void) {
    pthread_t thread;
    char *bytes = object(100);
    CHECK(pthread_create(&thread, NULL, free_it, bytes) == 0);
    pthread_join(thread, NULL);
    free(bytes);
}
static void realloc_after_free(void) {
    char *bytes = object(100);
    free(bytes);
    CHECK(realloc(bytes, 200) != NULL);
}

/* A freed object does not come back before 32 KB of others. */
static void quarantine_delays(void) {
    char *bytes = object(1000);
    free(bytes);
    bool delayed = true;
    for (unsigned i = 0; i < 32; i++) {
        char *other = malloc(1000);
        delayed &= other != bytes;
        free(other);
    }
    show(delayed);
}
static void quarantine_ends(void) {
    enum { MORE = 1000 };
    char *bytes = object(1000), *again[MOST], *others[MORE];
    for (unsigned i = 0; i < MORE; i++) others[i] = object(1000);
    free(bytes);
    for (unsigned i = 0; i < MORE; i++) free(others[i]); /* more than it holds */
    bool came_back = false;
    for (unsigned i = 0; i < MOST; i++) came_back |= (again[i] = malloc(1000)) == bytes;
    bool delayed = malloc_usable_size(again[0]) == 1000; /* not the plain build, where it comes back as well */
    show(came_back && delayed);
}

/* What a new slab gives out first, for promises.py to compare between processes. */
static void say_order(size_t size, unsigned others) {
    char *first = malloc(size);
    for (unsigned i = 0; i < others; i++) printf("%ld ", (long)((char *)malloc(size) - first));
}
static void order_small(void) {
    say_order(200, 6);
}
static void order_mid(void) {
    /* all of a size in one slab: where the next slab is varies anyway */
    say_order(2500, 3), say_order(3000, 3), say_order(3500, 3), say_order(6000, 3);
}

static void zero_on_free(void) {
    char *bytes = object(500);
    free(bytes);
    show(bytes_are_zero(bytes + 16, 500 - 16 - 8));
}
/* Nor do a process's children have each other's. */
static void order_of_children(void) {
    uint64_t orders[2];
    int ends[2];
    free(malloc(200));
    CHECK(pipe(ends) == 0);
    for (unsigned child = 0; child < 2; child++) {
        pid_t made = fork();
        CHECK(made >= 0);
        if (made == 0) {
            uint64_t order = 0;
            /* of many classes: some slabs are the parent's, linked */
            for (size_t size = 100; size < 900; size += 50) {
                char *first = malloc(size);
                order = order * 31 + (uint64_t)((char *)malloc(size) - first);
            }
            _exit(write(ends[1], &order, sizeof order) != sizeof order);
        }
        int status;
        CHECK(waitpid(made, &status, 0) == made && status == 0);
        CHECK(read(ends[0], &orders[child], sizeof *orders) == sizeof *orders);
    }
    show(orders[0] != orders[1]);
}

/* Of every tier, around the sizes at which something changes; the last ones are larger than a quarter of some
 * quarantines, and smaller than that of others. */
static const size_t some_sizes[] = {8,       9,       100,         1000,    2040,    2041,    4088,
                                    5000,    12000,   16376,       16377,   20000,   100000,  1000000,
                                    4194296, 4194297, 4194304 + 1, 4300000, 5000000, 17 << 20};
enum { SOME_SIZES = sizeof some_sizes / sizeof *some_sizes };

/* Whether no eight bytes of the program's are left. Memory may be the kernel's again, which a system call tells. */
static bool is_gone(const char *bytes, size_t size) {
    static char copy[GRANULE];
    static int ends[2];
    const uint64_t word = 0x5a5a5a5a5a5a5a5a;
    CHECK(ends[1] != 0 || pipe(ends) == 0);
    for (size_t at = 0, length; at < size; at += length) {
        length = size - at < sizeof copy ? size - at : sizeof copy;
        if (write(ends[1], bytes + at, length) != (ssize_t)length) continue;
        CHECK(read(ends[0], copy, length) == (ssize_t)length);
        for (size_t i = 0; i + sizeof word <= length; i += sizeof word)
            if (memcmp(copy + i, &word, sizeof word) == 0) return false;
    }
    return true;
}

/* Whether it waits in the quarantine, or passes by. */
static void contents_go(void) {
    bool gone = true;
    for (unsigned i = 0; i < SOME_SIZES; i++) {
        char *bytes = object(some_sizes[i]);
        free(bytes);
        gone &= is_gone(bytes, some_sizes[i]);
        bytes = object(some_sizes[i]);
        char *other = realloc(bytes, 3 * some_sizes[i]);
        CHECK(other != NULL);
        gone &= other == bytes || is_gone(bytes, some_sizes[i]);
        free(other);
    }
    show(gone);
}

/* Whether a page without access comes within a quarter and two pages behind the object. */
static bool is_guarded(const char *bytes, size_t size) {
    int ends[2];
    bool faults = false;
    CHECK(pipe(ends) == 0);
    for (const char *at = bytes + size; at < bytes + size + size / 4 + (size_t)3 * GRANULE; at += GRANULE)
        faults |= write(ends[1], at, 1) < 0;
    return faults && close(ends[0]) == 0 && close(ends[1]) == 0;
}

/* A large object that grows leaves its place to none of another size. What is new is zero; a guard is behind it. */
static void large_grows(void) {
    bool guarded = true, moved_away = true;
    size_t size = 20000;
    unsigned char *bytes = (unsigned char *)object(size);
    while (size < 2 << 20) {
        bytes = realloc(bytes, size -= size / 50); /* in its place: the old fill stays behind the new one */
        CHECK(bytes != NULL);
        size_t larger = size + size / 2 + 5000;
        unsigned char *moved = realloc(bytes, larger);
        CHECK(moved != NULL && malloc_usable_size(moved) == larger);
        CHECK(moved[0] == 0x5a && moved[size / 2] == 0x5a && moved[size - 1] == 0x5a);
        CHECK(bytes_are_zero((char *)moved + size, larger - size));
        memset(moved + size, 0x5a, larger - size);
        moved_away &= moved != bytes;
        bytes = moved;
        size = larger;
        guarded &= is_guarded((char *)bytes, size);
    }
    free(bytes);
    show(guarded && moved_away && is_gone((char *)bytes, size));
}

/* A small one of the large objects comes back without page faults. It does not come back at once, is zero meanwhile and
 * then, and keeps its guard. */
static void large_is_kept(void) {
    struct rusage before, after;
    bool good = true;
    for (unsigned i = 0; i < 1100; i++) {
        if (i == 100) getrusage(RUSAGE_SELF, &before);
        char *bytes = malloc(20000);
        CHECK(bytes != NULL);
        good &= bytes_are_zero(bytes, 20000);
        memset(bytes, 0x5a, 20000);
        free(bytes);
        if (i % 100 == 0) good &= bytes_are_zero(bytes, 20000) && is_guarded(bytes, 20000) && malloc(20000) != bytes;
    }
    getrusage(RUSAGE_SELF, &after);
    printf("%ld faults\n", after.ru_minflt - before.ru_minflt);
    show(good && after.ru_minflt - before.ru_minflt < 1000);
}

/* Nothing is wrong here, so nothing may be said, whatever the options are. */
static void *work_with_all(void *nothing) {
    for (unsigned i = 0; i < SOME_SIZES; i++) {
        size_t size = some_sizes[i];
        char *bytes = object(size), *zero = calloc(1, size), *aligned = aligned_alloc(8 << i % 14, size);
        CHECK(zero != NULL && bytes_are_zero(zero, size) && aligned != NULL);
        memset(zero, 1, size);
        memset(aligned, 2, size);
        free(bytes);
        zero = realloc(zero, size + size / 3 + 1);
        CHECK(zero != NULL && zero[0] == 1 && zero[size - 1] == 1);
        zero = realloc(zero, size / 3 + 1);
        CHECK(zero != NULL && zero[0] == 1 && zero[size / 3] == 1);
        if (i % 4 == 0) malloc_trim(0);
        free(zero);
        free(object(size));
        free(aligned);
    }
    return nothing;
}
static void correct_work(void) {
    for (unsigned i = 0; i < 2; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, work_with_all, NULL) == 0);
        work_with_all(NULL);
        pthread_join(thread, NULL);
        malloc_trim(0);
    }
}

/* Also where smaller objects were, with their trailers. */
static void zero_on_allocation(void) {
    bool zero = true;
    char **small = sorted(40, MOST);
    for (unsigned i = 0; i < MOST; i++) free(small[i]);
    for (unsigned i = 0; i < MOST / 4; i++) zero &= bytes_are_zero(malloc(200), 200);
    for (size_t size = 1; size < 200000; size += size / 3 + 1)
        for (unsigned i = 0; i < 10; i++) {
            char *bytes = object(size);
            char *other = malloc(size);
            zero &= bytes_are_zero(other, size);
            memset(other, 1, size);
            free(bytes);
            free(other);
        }
    show(zero);
}

static void size_is_exact(void) {
    bool exact = true;
    for (size_t size = 1; size < 300000; size += size / 2 + 1) {
        char *bytes = object(size);
        exact &= malloc_usable_size(bytes) == size;
        bytes = realloc(bytes, size + 3);
        exact &= malloc_usable_size(bytes) == size + 3;
        free(bytes);
    }
    show(exact);
}

/* Tables that grow: the records of the first 32 MB have two parts of 256 KB, or one that is twice as large. A part is
 * neighbours, some of which only can be read, with nothing that can be reached before and behind them. Or one
 * large mapping between two that nobody may touch. */
static void records_are_fenced(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[5];
    unsigned long from, to, begin = 0, end = 0, fence = 0, parts = 0;
    bool fenced = false, only_read = false;
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        CHECK(sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3);
        bool reached = strcmp(rights, "---p") != 0;
        if (reached && begin && from == end) {
            only_read |= strcmp(rights, "r--p") == 0;
            end = to;
            continue;
        }
        if (only_read && (end - begin == 256ul << 10 || end - begin == 512ul << 10)) parts += end - begin;
        fenced |= !only_read && begin && fence == begin && !reached && from == end && end - begin > 32ul << 20;
        begin = reached ? from : 0;
        end = to;
        if (!reached) fence = to;
        only_read = reached && strcmp(rights, "r--p") == 0;
    }
    show(fenced || parts >= 512ul << 10);
}

static const struct promise cases[] = {
    CASE(overflow_small),
    CASE(overflow_small_by_zero),
    CASE(overflow_small_slack),
    CASE(overflow_mid),
    CASE(overflow_large),
    CASE(overflow_grown),
    CASE(overflow_huge),
    CASE(overflow_aligned),
    CASE(overflow_resized),
    CASE(overflow_found_by_realloc),
    CASE(overflow_into_next),
    CASE(overflow_into_guard),
    CASE(overflow_into_guard_mid),
    CASE(write_after_free_small),
    CASE(write_after_free_start),
    CASE(write_after_free_start_many),
    CASE(write_after_free_end),
    CASE(write_after_free_mid),
    CASE(forged_link),
    CASE(forged_link_in_heap),
    CASE(free_end_written),
    CASE(double_free),
    CASE(double_free_late),
    CASE(double_free_elsewhere),
    CASE(realloc_after_free),
    CASE(quarantine_delays),
    CASE(quarantine_ends),
    CASE(order_small),
    CASE(order_mid),
    CASE(order_of_children),
    CASE(zero_on_free),
    CASE(zero_on_allocation),
    CASE(contents_go),
    CASE(large_grows),
    CASE(large_is_kept),
    CASE(correct_work),
    CASE(size_is_exact),
    CASE(records_are_fenced),
};

int main(int count, char **arguments) {
    promise_run(count, arguments, cases, sizeof cases / sizeof *cases);
}
