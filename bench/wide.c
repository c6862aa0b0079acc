/* wide.c - programs of other people's ideas, written anew: one cell a run.
 *
 *   wide CELL threads=N work=N      work: objects that are made, over all threads
 *
 * larson    each thread replaces objects of a table at random. Then another thread goes on with that table, as a server
 *           hands connections on (P. Larson, M. Krishnan: Memory allocation for long-running server applications)
 * sized     the same with C++'s operator new and the sized delete
 * table     one table of 200,000 objects for each thread, most of them small, replaced at random: misses the caches
 * scratch   each thread frees an object that another thread has made, then writes to one of its own again and again:
 *           slow where threads get parts of one line (E. Berger: Hoard)
 * simple    1,600, 400, 100, 25 objects of one size are made and then freed in the same order
 * mixed     batches of objects are made; half of each goes in order, half in reverse; a tenth stays for longer
 * vectors   std::vector of int that grow to some length
 * strings, maps, lists, sets: containers that are filled and emptied
 */
#include "bench.h"
#include "containers.h"

void *new_object(size_t size) __asm__("_Znwm");
void delete_object(void *object, size_t size) __asm__("_ZdlPvm");

enum { MOST_THREADS = 1024, TABLE = 200000, LARSON_SLOTS = 5000, LARSON_ROUNDS = 8, SCRATCHES = 1000, BATCH = 1000 };

struct worker {
    OWN_LINES pthread_t thread;
    struct random numbers;
    uint64_t work;
    char **objects;
    uint32_t *sizes;
    uint32_t slots;
};

typedef void *entry(void *worker);

static struct options options;

static char *make(size_t size) {
    char *object = malloc(size);
    CHECK(object != NULL);
    object[0] = object[size - 1] = 1;
    return object;
}

static size_t size_of_connection(struct random *numbers) {
    return 8 + random_below(numbers, 993);
}

static void *replace(void *argument) {
    struct worker *worker = argument;
    for (uint64_t left = worker->work; left > 0; left--) {
        char **object = &worker->objects[random_below(&worker->numbers, worker->slots)];
        free(*object);
        *object = make(size_of_connection(&worker->numbers));
    }
    return NULL;
}

static void *replace_sized(void *argument) {
    struct worker *worker = argument;
    for (uint64_t left = worker->work; left > 0; left--) {
        uint32_t slot = random_below(&worker->numbers, worker->slots);
        if (worker->objects[slot] != NULL) delete_object(worker->objects[slot], worker->sizes[slot]);
        worker->sizes[slot] = (uint32_t)size_of_connection(&worker->numbers);
        char *object = worker->objects[slot] = new_object(worker->sizes[slot]);
        object[0] = object[worker->sizes[slot] - 1] = 1;
    }
    return NULL;
}

/* Half below 64 B, a quarter below 128 B, and so on to 4 KB. */
static void *replace_small(void *argument) {
    struct worker *worker = argument;
    for (uint64_t left = worker->work; left > 0; left--) {
        char **object = &worker->objects[random_below(&worker->numbers, worker->slots)];
        uint32_t doublings = (uint32_t)__builtin_ctz(random_next(&worker->numbers) | 64);
        free(*object);
        *object = make(8 + random_below(&worker->numbers, 56u << doublings));
    }
    return NULL;
}

static void *scratch(void *argument) {
    struct worker *worker = argument;
    free(worker->objects[0]);
    worker->objects[0] = NULL;
    for (uint64_t left = worker->work / SCRATCHES; left > 0; left--) {
        volatile char *object = make(8);
        for (uint32_t times = 0; times < SCRATCHES; times++) object[times % 8]++;
        free((char *)object);
    }
    return NULL;
}

static void *in_order(void *argument) {
    struct worker *worker = argument;
    static const uint32_t amounts[] = {1600, 400, 100, 25};
    for (uint64_t left = worker->work; left > 0;)
        for (size_t size = 16; size <= 2048; size *= 2)
            for (size_t i = 0; i < sizeof amounts / sizeof *amounts && left > 0; i++) {
                for (uint32_t slot = 0; slot < amounts[i]; slot++) worker->objects[slot] = make(size);
                for (uint32_t slot = 0; slot < amounts[i]; slot++) free(worker->objects[slot]);
                memset(worker->objects, 0, amounts[i] * sizeof *worker->objects);
                left -= left < amounts[i] ? left : amounts[i];
            }
    return NULL;
}

static void release(char **object) {
    free(*object);
    *object = NULL;
}

/* Each tenth object of a batch stays two batches longer than the others, until its place is needed. */
static void *mixed(void *argument) {
    struct worker *worker = argument;
    const uint32_t batches = 3;
    for (uint64_t left = worker->work / BATCH, number = 0; left > 0; left--, number++) {
        char **batch = worker->objects + number % batches * BATCH,
             **before = worker->objects + (number + 2) % batches * BATCH;
        for (uint32_t slot = 0; slot < BATCH; slot += 10) release(&batch[slot]);
        for (uint32_t slot = 0; slot < BATCH; slot++) batch[slot] = make(8 + random_below(&worker->numbers, 500));
        for (uint32_t slot = 0; slot < BATCH / 2; slot++)
            if (slot % 10 != 0) release(&before[slot]);
        for (uint32_t slot = BATCH; slot-- > BATCH / 2;)
            if (slot % 10 != 0) release(&before[slot]);
    }
    return NULL;
}

static void *contain(void *argument, containers *fill) {
    struct worker *worker = argument;
    fill(worker->work, random_next(&worker->numbers));
    return NULL;
}
static void *vectors(void *argument) {
    return contain(argument, fill_vectors);
}
static void *strings(void *argument) {
    return contain(argument, fill_strings);
}
static void *maps(void *argument) {
    return contain(argument, fill_maps);
}
static void *lists(void *argument) {
    return contain(argument, fill_lists);
}
static void *sets(void *argument) {
    return contain(argument, fill_sets);
}

static const struct cell {
    const char *name;
    entry *run;
    uint32_t slots, rounds; /* in each round another thread has the objects */
    bool given;             /* begins with an object in each first slot */
} cells[] = {
    {"larson", replace, LARSON_SLOTS, LARSON_ROUNDS, false},
    {"sized", replace_sized, LARSON_SLOTS, LARSON_ROUNDS, false},
    {"table", replace_small, TABLE, 1, false},
    {"scratch", scratch, 1, 1, true},
    {"simple", in_order, 1600, 1, false},
    {"mixed", mixed, 3 * BATCH, 1, false},
    {"vectors", vectors, 1, 1, false},
    {"strings", strings, 1, 1, false},
    {"maps", maps, 1, 1, false},
    {"lists", lists, 1, 1, false},
    {"sets", sets, 1, 1, false},
};

static struct worker workers[MOST_THREADS];

static void run(const struct cell *cell) {
    for (uint32_t round = 0; round < cell->rounds; round++) {
        for (uint32_t i = 0; i < options.threads; i++)
            thread_start(&workers[i].thread, cell->run, &workers[(i + round) % options.threads]);
        for (uint32_t i = 0; i < options.threads; i++) pthread_join(workers[i].thread, NULL);
    }
}

int main(int count, char **arguments) {
    CHECK(count > 1);
    options = options_read(count - 1, arguments + 1);
    CHECK(options.threads <= MOST_THREADS);
    const struct cell *cell = cells, *end = cells + sizeof cells / sizeof *cells;
    while (cell < end && strcmp(cell->name, arguments[1]) != 0) cell++;
    CHECK(cell < end);
    for (uint32_t i = 0; i < options.threads; i++) {
        struct worker *worker = &workers[i];
        worker->numbers = random_from(i);
        worker->work = options.work / options.threads / cell->rounds;
        worker->slots = cell->slots;
        worker->objects = map_table(cell->slots * sizeof *worker->objects);
        worker->sizes = map_table(cell->slots * sizeof *worker->sizes);
        if (cell->given) worker->objects[0] = make(8);
    }
    struct measure start = measure_now();
    run(cell);
    measure_print(start, measure_now(), options.work);
    return 0;
}
