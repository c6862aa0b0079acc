/* pressure.c LIMIT - allocates and frees 7/10 of LIMIT MB. Then it uses 8/10 of LIMIT in a mapping of its own, a MB in
 * each 8 ms. A control group's limit kills it if the allocator keeps what was freed. Plain malloc: any allocator may be
 * preloaded. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MB = 1 << 20, SIZE = 64 << 10, KEPT_EACH = 64 };

static void *sleep_long(void *unused) {
    for (;;) pause();
    return unused;
}

/* One object of 64 stays: so glibc keeps the whole heap. */
static void use_and_free(size_t bytes) {
    size_t count = bytes / SIZE;
    char **objects = calloc(count, sizeof *objects);
    for (size_t i = 0; i < count; i++) {
        objects[i] = malloc(SIZE);
        if (objects[i] == NULL) exit(1);
        memset(objects[i], 1, SIZE);
    }
    for (size_t i = 0; i < count; i++)
        if (i % KEPT_EACH != KEPT_EACH - 1) free(objects[i]);
}

int main(int count, char **arguments) {
    size_t limit = count > 1 ? strtoul(arguments[1], NULL, 10) * MB : 0;
    pthread_t thread;
    if (limit == 0 || pthread_create(&thread, NULL, sleep_long, NULL) != 0) return 1;
    use_and_free(limit / 10 * 7);
    size_t others = limit / 10 * 8;
    char *other = mmap(NULL, others, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (other == MAP_FAILED) return 1;
    for (size_t used = 0; used + MB <= others; used += MB) {
        memset(other + used, 1, MB);
        usleep(8000);
    }
    puts("lives");
    return 0;
}
