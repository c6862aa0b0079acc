/* zygote.c ACT [seal] - what children share with their parent. A process makes objects of 64 MB, frees a third of them,
 * and forks children, which live at the same time. Each child reads all objects that it has inherited. ACT:
 *
 *   reads       nothing more
 *   allocates   makes objects of its own, and frees half of these
 *   frees       frees a tenth of the inherited objects, then as `allocates`
 *
 * seal: calls jw_seal before the first fork, where there is one. Prints the mean of the children's memory.
 */
#include "bench.h"

#include <sys/wait.h>

extern int jw_seal(void) __attribute__((weak));

enum { CHILDREN = 50, LIVE = 64 << 20, MOST = 1 << 20, OCTAVES = 10, OWN = 20000, FREED_PART = 10 };

static char **objects;
static size_t count;

/* 9 B to 8 KB, small ones most often; an own object has a few hundred bytes at most. */
static size_t size_from(struct random *random, uint32_t octaves) {
    size_t least = (size_t)8 << random_next(random) % octaves;
    return least + random_next(random) % least + 1;
}

static char *object_of(size_t size) {
    char *object = malloc(size);
    CHECK(object != NULL);
    return memset(object, 1, size);
}

static void make_objects(void) {
    struct random random = random_from(1);
    objects = map_table(MOST * sizeof *objects);
    for (size_t live = 0; live < LIVE && count < MOST; count++) {
        size_t size = size_from(&random, OCTAVES);
        objects[count] = object_of(size);
        live += size;
    }
    for (size_t i = 0; i < count; i++) {
        if (random_next(&random) % 3) continue;
        free(objects[i]);
        objects[i] = NULL;
    }
}

static void allocate_own(void) {
    static char *own[OWN];
    struct random random = random_from(2);
    for (size_t i = 0; i < OWN; i++) own[i] = object_of(size_from(&random, OCTAVES / 2));
    for (size_t i = 0; i < OWN; i += 2) free(own[i]);
}

static void live(const char *act) {
    struct random random = random_from(3);
    for (size_t i = 0; i < count; i++) CHECK(objects[i] == NULL || *(volatile char *)objects[i] == 1);
    for (size_t i = 0; i < count && strcmp(act, "frees") == 0; i++)
        if (random_next(&random) % FREED_PART == 0) free(objects[i]);
    if (strcmp(act, "reads") != 0) allocate_own();
}

static size_t kilobytes(const char *text, const char *name) {
    const char *line = strstr(text, name);
    CHECK(line != NULL);
    return strtoul(line + strlen(name), NULL, 10);
}

static void add_memory(pid_t child, size_t *shared, size_t *private) {
    char text[4096];
    snprintf(text, sizeof text, "/proc/%d/smaps_rollup", (int)child);
    int file = open(text, O_RDONLY);
    CHECK(file >= 0);
    ssize_t length = read(file, text, sizeof text - 1);
    CHECK(length > 0);
    text[length] = '\0';
    close(file);
    *shared += kilobytes(text, "\nShared_Clean:") + kilobytes(text, "\nShared_Dirty:");
    *private += kilobytes(text, "\nPrivate_Dirty:");
}

int main(int argc, char **argv) {
    int ready[2], end[2];
    pid_t children[CHILDREN];
    size_t shared = 0, private = 0;
    char byte = 0;
    CHECK(argc > 1 && pipe(ready) == 0 && pipe(end) == 0);
    make_objects();
    if (argc > 2 && jw_seal != NULL) CHECK(jw_seal() == 0);
    for (int i = 0; i < CHILDREN; i++) {
        CHECK((children[i] = fork()) >= 0);
        if (children[i] > 0) continue;
        close(end[1]);
        live(argv[1]);
        CHECK(write(ready[1], &byte, 1) == 1);
        _exit(read(end[0], &byte, 1) != 0);
    }
    close(ready[1]);
    for (int i = 0; i < CHILDREN; i++) CHECK(read(ready[0], &byte, 1) == 1);
    for (int i = 0; i < CHILDREN; i++) add_memory(children[i], &shared, &private);
    close(end[1]);
    for (int i = 0; i < CHILDREN; i++) wait(NULL);
    printf("{\"shared_kb\":%zu,\"private_kb\":%zu}\n", shared / CHILDREN, private / CHILDREN);
    return 0;
}
