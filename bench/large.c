/* large.c - objects from 4 KB up, one thread: one cell a run.
 *
 *   large CELL [part]      a cell of the table below, by its name; a part of its work: 8 is an eighth
 *
 * pair    malloc and free of one size; full: each page is written
 * random  a few objects, each replaced by one of another size; the first byte of each is written
 * calloc  calloc and free; a byte of each page is written before the free
 * grow    realloc in equal steps, the new part written at its end
 * vector  malloc of twice the size, a copy, free of the old one, as vectors grow
 * align   aligned_alloc and free of random sizes
 */
#include "bench.h"

struct cell {
    const char *name;
    uint64_t (*run)(const struct cell *cell, uint64_t times); /* returns the operations */
    size_t low, high, step;
    uint64_t times;
};

enum { SLOTS = 16, KB = 1 << 10, MB = 1 << 20 };

static struct random numbers;

static void write_pages(char *object, size_t size) {
    for (size_t offset = 0; offset < size; offset += PAGE) ((volatile char *)object)[offset] = 1;
}

static char *checked(void *object) {
    CHECK(object != NULL);
    return object;
}

static uint64_t pair(const struct cell *cell, uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
        char *object = checked(malloc(cell->low));
        *(volatile char *)object = 1;
        free(object);
    }
    return times;
}

static uint64_t pair_full(const struct cell *cell, uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
        char *object = checked(malloc(cell->low));
        write_pages(object, cell->low);
        free(object);
    }
    return times;
}

static uint64_t random_sizes(const struct cell *cell, uint64_t times) {
    char *objects[SLOTS] = {NULL};
    for (uint64_t i = 0; i < times; i++) {
        uint32_t slot = random_below(&numbers, SLOTS);
        free(objects[slot]);
        objects[slot] = checked(malloc(cell->low + random_below(&numbers, (uint32_t)(cell->high - cell->low))));
        *(volatile char *)objects[slot] = 1;
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) free(objects[slot]);
    return times;
}

static uint64_t zeroed(const struct cell *cell, uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
        char *object = checked(calloc(1, cell->low));
        CHECK(object[cell->low - 1] == 0 && object[cell->low / 2] == 0);
        write_pages(object, cell->low);
        object[cell->low - 1] = 1;
        free(object);
    }
    return times;
}

static uint64_t grow(const struct cell *cell, uint64_t times) {
    uint64_t done = 0;
    for (uint64_t i = 0; i < times; i++) {
        char *object = NULL;
        for (size_t size = cell->low; size <= cell->high; size += cell->step, done++) {
            object = checked(realloc(object, size));
            object[0] = object[size - 1] = 1;
        }
        free(object);
    }
    return done;
}

static uint64_t vector(const struct cell *cell, uint64_t times) {
    uint64_t done = 0;
    for (uint64_t i = 0; i < times; i++) {
        char *object = checked(malloc(cell->low));
        memset(object, 1, cell->low);
        for (size_t size = cell->low; size < cell->high; size *= 2, done++) {
            char *twice = checked(malloc(2 * size));
            memcpy(twice, object, size);
            memset(twice + size, 1, size);
            free(object);
            object = twice;
        }
        free(object);
    }
    return done;
}

static uint64_t aligned(const struct cell *cell, uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
        size_t size = cell->low + random_below(&numbers, (uint32_t)(cell->high - cell->low));
        char *object = checked(aligned_alloc(cell->step, (size + cell->step - 1) & ~(cell->step - 1)));
        *(volatile char *)object = 1;
        free(object);
    }
    return times;
}

static const struct cell cells[] = {
    {"pair-32K", pair, 32 * KB, 0, 0, 2000000},
    {"pair-64K", pair, 64 * KB, 0, 0, 2000000},
    {"pair-256K", pair, 256 * KB, 0, 0, 2000000},
    {"pair-1M", pair, MB, 0, 0, 2000000},
    {"pair-3.9M", pair, 3900 * KB, 0, 0, 1000000},
    {"pair-5M", pair, 5 * MB, 0, 0, 20000},
    {"pair-64M", pair, 64 * MB, 0, 0, 20000},
    {"full-1M", pair_full, MB, 0, 0, 20000},
    {"full-8M", pair_full, 8 * MB, 0, 0, 300},
    {"random-4K-64K", random_sizes, 4 * KB, 64 * KB, 0, 2000000},
    {"random-16K-1M", random_sizes, 16 * KB, MB, 0, 500000},
    {"random-1M-4M", random_sizes, MB, 4 * MB, 0, 200000},
    {"random-4M-32M", random_sizes, 4 * MB, 32 * MB, 0, 20000},
    {"calloc-64K", zeroed, 64 * KB, 0, 0, 200000},
    {"calloc-1M", zeroed, MB, 0, 0, 10000},
    {"calloc-8M", zeroed, 8 * MB, 0, 0, 300},
    {"grow-4K-1M", grow, 4 * KB, MB, 4 * KB, 500},
    {"grow-64K-16M", grow, 64 * KB, 16 * MB, 64 * KB, 50},
    {"grow-1M-64M", grow, MB, 64 * MB, MB, 20},
    {"vector-64-16M", vector, 64, 16 * MB, 0, 50},
    {"align-64", aligned, 16, KB, 64, 2000000},
    {"align-4K", aligned, KB, 16 * KB, 4 * KB, 1000000},
    {"align-64K", aligned, KB, 100 * KB, 64 * KB, 500000},
};

int main(int count, char **arguments) {
    CHECK(count > 1);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const struct cell *cell = &cells[i];
        if (strcmp(cell->name, arguments[1]) != 0) continue;
        numbers = random_from(1);
        uint64_t part = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
        CHECK(part > 0);
        uint64_t times = cell->times / part + 1;
        cell->run(cell, times / 20 + 1); /* warm */
        struct measure start = measure_now();
        uint64_t operations = cell->run(cell, times);
        measure_print(start, measure_now(), operations);
        return 0;
    }
    CHECK(!"a cell that is known");
}
