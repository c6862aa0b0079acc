/* many_mappings.c - a program with as many mappings as the kernel allows frees objects above 4 MB, and asks for others.
 *
 * The kernel then refuses to unmap what lies between other mappings, and to map anything. What was freed must serve.
 */
#include "check.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* On 32 bits fewer objects: 200 of 5 MB, as much in gaps between them, and 200 of 10 MB are nearly all addresses. */
enum { OBJECTS = sizeof(void *) > 4 ? 400 : 280, FREED = OBJECTS / 2 };
enum { PAGE = 4096, SIZE = 5 << 20, SMALLER = SIZE / 10 * 9 / PAGE * PAGE };
enum { UNMAPPED_ALL_THE_SAME = 4, AT_ENDS = 8 };

static unsigned char *objects[OBJECTS];
static size_t sizes[OBJECTS];

static bool get_object(size_t i, size_t size) {
    objects[i] = calloc(1, size);
    CHECK(objects[i] != NULL || errno == ENOMEM);
    if (objects[i] == NULL) return false;
    CHECK(malloc_usable_size(objects[i]) >= size);
    for (size_t at = 0; at < size; at += PAGE) CHECK(objects[i][at] == 0);
    objects[i][0] = objects[i][size / 2] = objects[i][size - 1] = (unsigned char)(i % 250 + 1);
    sizes[i] = size;
    return true;
}

static void lose_object(size_t i) {
    if (objects[i] == NULL) return;
    unsigned char mark = (unsigned char)(i % 250 + 1);
    CHECK(objects[i][0] == mark && objects[i][sizes[i] / 2] == mark && objects[i][sizes[i] - 1] == mark);
    free(objects[i]);
    objects[i] = NULL;
}

static size_t mappings_allowed(void) {
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    size_t most = 0;
    if (file == NULL || fscanf(file, "%zu", &most) != 1 || most > 1 << 18 || sysconf(_SC_PAGESIZE) != PAGE)
        check_skip("the number of mappings is not as usual");
    fclose(file);
    return most;
}

/* Maps until the kernel refuses. Returns the place. */
static char *map_to_the_limit(size_t size) {
    char *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(room != MAP_FAILED);
    size_t at = 0;
    while (at < size && mprotect(room + at, PAGE, PROT_READ) == 0) at += 2 * PAGE;
    CHECK(at < size);
    for (int end = 0; end < AT_ENDS;) /* the last ones of other rights than their neighbours */
        if (mmap(NULL, PAGE, end % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) end++;
    return room;
}

static size_t free_and_ask_again(size_t size) {
    size_t served = 0;
    for (size_t i = 0; i < OBJECTS; i += 2) lose_object(i);
    for (size_t i = 0; i < OBJECTS; i += 2) served += get_object(i, size);
    return served;
}

int main(void) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* each object would have a huge page */
    size_t room_size = 2 * PAGE * mappings_allowed();
    for (size_t i = 0; i < OBJECTS; i++) CHECK(get_object(i, SIZE));
    char *room = map_to_the_limit(room_size);
    CHECK(free_and_ask_again(SIZE) >= FREED - UNMAPPED_ALL_THE_SAME);
    CHECK(free_and_ask_again(SMALLER) >= FREED - 2 * UNMAPPED_ALL_THE_SAME);
    errno = 0;
    CHECK(malloc(2 * SIZE) == NULL && errno == ENOMEM);
    CHECK(munmap(room, room_size) == 0); /* from now on all is as before */
    CHECK(free_and_ask_again(2 * SIZE) == FREED);
    for (size_t i = 0; i < OBJECTS; i++) lose_object(i);
    malloc_trim(0);
    return 0;
}
