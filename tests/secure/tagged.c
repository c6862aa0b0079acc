/* tagged.c faults|late|nothing|zero|pattern - libjwmalloc-tags (core/tagged.h): what must be seen where the processor
 * has memory tags, and what must not be.
 *
 * faults: a wrong access ends in a fault at once; late: with the option tags:async, at the next system call. nothing:
 * there are no tags, or the option says tags:off; then the same steps go unseen. zero, pattern: as faults, and the
 * option init says what new objects hold.
 *
 * Most steps make a wrong access and look for its fault in a handler. Frees that end the process are in misuses.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"
#include "jwmalloc.h"
#include "secure/tagged.h"

enum { LATE_FAULT = 8 /* SEGV_MTEAERR */, TAG_FAULT = 9 /* SEGV_MTESERR */, MANY = 200 };

bool tags_wanted;
static bool late;
static int filled = -1; /* with this byte */
static sigjmp_buf before_access;

static const size_t sizes[] = {0,    1,    8,    9,    16,   17,   40,   64,   100,  112,   336,   500,  816,
                               1000, 1360, 2048, 2049, 3000, 4096, 5000, 7168, 9000, 10240, 12000, 14000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void on_fault(int number, siginfo_t *information, void *context) {
    (void)number, (void)context;
    if (information->si_code != (late ? LATE_FAULT : TAG_FAULT)) _exit(3);
    siglongjmp(before_access, 1);
}

/* Whether a read, or a write of what is there, ends in a fault. */
bool ends_in_fault(volatile char *at, bool write) {
    if (sigsetjmp(before_access, 1)) return true;
    if (write) *at = 'x';
    else (void)*at;
    syscall(SYS_getppid);
    return false;
}

uintptr_t place_of(const volatile void *object) {
    return (uintptr_t)object << 8 >> 8;
}

/* --- ways to allocate and to free */

void *operator_new(size_t size) __asm__("_Znwm");
void operator_delete(void *object, size_t size) __asm__("_ZdlPvm");

static size_t alignment; /* of the last object that one of them made */

static char *by_calloc(size_t size) {
    char *made = calloc(alignment = 1, size);
    CHECK(made && bytes_are_zero(made, malloc_usable_size(made)));
    return made;
}
static char *by_aligned(size_t size) {
    char *made = aligned_alloc(alignment = 64, size);
    CHECK(made && (uintptr_t)made % alignment == 0);
    return made;
}
static char *by_realloc(size_t size) {
    char *made = malloc(size / 3), kept = 'k';
    if (size / 3 > 0) made[size / 3 - 1] = kept;
    alignment = 1;
    char *now = realloc(made, size);
    CHECK(size / 3 == 0 || now[size / 3 - 1] == kept);
    return now;
}
static char *by_malloc(size_t size) {
    char *made = malloc(size);
    alignment = 1;
    CHECK(made && malloc_usable_size(made) >= size);
    for (size_t i = 0; filled >= 0 && i < malloc_usable_size(made); i++) CHECK((unsigned char)made[i] == filled);
    return made;
}
static char *by_new(size_t size) {
    alignment = 1;
    return operator_new(size);
}
static char *(*const makers[])(size_t) = {by_malloc, by_calloc, by_aligned, by_realloc, by_new};
enum { MAKERS = sizeof makers / sizeof *makers };

static void by_free(char *object, size_t size) {
    (void)size;
    free(object);
}
static void by_sized(char *object, size_t size) {
    if (alignment == 1) jw_free_sized(object, size);
    else jw_free_aligned_sized(object, alignment, size);
}
static void by_delete(char *object, size_t size) {
    if (alignment == 1) operator_delete(object, size);
    else free(object);
}
static void by_moving(char *object, size_t size) {
    memset(object, 'm', size);
    char *moved = realloc(object, 3 * size + 20000);
    CHECK(moved && place_of(moved) != place_of(object));
    free(moved);
}
static void *frees(void *object) {
    free(object);
    return NULL;
}
static void by_thread(char *object, size_t size) {
    pthread_t thread;
    (void)size;
    CHECK(pthread_create(&thread, NULL, frees, object) == 0 && pthread_join(thread, NULL) == 0);
}
static void (*const freers[])(char *, size_t) = {by_free, by_sized, by_delete, by_moving, by_thread};
enum { FREERS = sizeof freers / sizeof *freers };

/* --- what must be seen */

static void sees_after_free(void) {
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned j = 0; j < FREERS; j++) {
            char *object = by_malloc(sizes[i]);
            size_t last = malloc_usable_size(object) - 1;
            CHECK((tag_of(object) != 0) == tags_wanted);
            CHECK(!ends_in_fault(object, true) && !ends_in_fault(object + last, true));
            freers[j](object, sizes[i]);
            size_t step = last / 12 / 16 * 16 + 16;
            for (size_t at = 0; at <= last; at += step) CHECK(ends_in_fault(object + at, false) == tags_wanted);
            if (tags_wanted && !late) CHECK(ends_in_fault(object, true) && ends_in_fault(object + last, true));
        }
}

/* Each way to free, and then each way to allocate: what has the place gets another tag. */
static void sees_after_reuse(void) {
    unsigned reused = 0;
    for (unsigned i = 1; i < SIZES; i++)
        for (unsigned way = 0; way < MAKERS * (FREERS - 1); way++)
            for (unsigned times = 0; times < 2 * MAKERS; times++) {
                char *before = makers[times % MAKERS](sizes[i]);
                freers[way % (FREERS - 1)](before, sizes[i]);
                char *now = makers[way % MAKERS](sizes[i]);
                if (place_of(now) == place_of(before)) {
                    reused++;
                    CHECK((now != before) == tags_wanted);
                    CHECK(ends_in_fault(before, false) == tags_wanted);
                }
                free(now);
            }
    CHECK(reused > 1000);
}

static int compare_places(const void *left, const void *right) {
    uintptr_t one = place_of(*(char *const *)left), other = place_of(*(char *const *)right);
    return one < other ? -1 : one > other;
}

/* Objects with nothing between them: also those of two slabs. */
static unsigned see_neighbours(char **objects, unsigned count) {
    unsigned neighbours = 0;
    qsort(objects, count, sizeof *objects, compare_places);
    for (unsigned i = 0; i + 1 < count; i++) {
        size_t size = malloc_usable_size(objects[i]);
        CHECK(place_of(objects[i]) % 16 == 0 || !tags_wanted);
        CHECK(place_of(objects[i]) + size <= place_of(objects[i + 1]));
        if (place_of(objects[i]) + size != place_of(objects[i + 1])) continue;
        neighbours++;
        if (!tags_wanted) continue;
        CHECK(tag_of(objects[i]) != tag_of(objects[i + 1]));
        CHECK(ends_in_fault(objects[i] + size, false) && ends_in_fault(objects[i + 1] - 1, false));
    }
    return neighbours;
}

static void *makes_some(void *array) {
    char **objects = array;
    for (unsigned i = 0; i < MANY / 2; i++) objects[i] = malloc(sizes[i % SIZES]);
    return NULL;
}

static void sees_neighbours(void) {
    static char *objects[MANY];
    for (unsigned i = 1; i < SIZES; i++) {
        for (unsigned j = 0; j < MANY; j++) objects[j] = makers[j % MAKERS](sizes[i]);
        CHECK(see_neighbours(objects, MANY) > MANY / 2);
        for (unsigned j = 0; j < MANY; j += 2) free(objects[j]);
        for (unsigned j = 0; j < MANY; j += 2) objects[j] = malloc(sizes[i]);
        CHECK(see_neighbours(objects, MANY) > MANY / 2);
        for (unsigned j = 0; j < MANY; j++) free(objects[j]);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, makes_some, objects) == 0);
    makes_some(objects + MANY / 2);
    CHECK(pthread_join(thread, NULL) == 0);
    see_neighbours(objects, MANY);
    for (unsigned j = 0; j < MANY; j++) free(objects[j]);
}

/* --- what must not be seen */

static void keeps_contents(void) {
    uint64_t state = 1;
    for (unsigned i = 0; i < 1000; i++) {
        size_t old = random_below(&state, i % 16 ? 3000 : 5000000), size = random_below(&state, i % 7 ? 6000 : 40000);
        char *object = malloc(old);
        pattern_fill(object, old, i);
        object = realloc(object, size + 1);
        CHECK(object && malloc_usable_size(object) > size);
        CHECK(pattern_holds(object, (old < size ? old : size) / 8 * 8, i));
        memset(object, 1, malloc_usable_size(object));
        free(object);
    }
}

/* Pages that went back have no tags. */
static void reclaims(void) {
    static char *objects[20 * MANY];
    for (unsigned times = 0; times < 3; times++)
        for (unsigned i = 0; i < SIZES; i++) {
            for (unsigned j = 0; j < 20 * MANY / (i + 1); j++) {
                objects[j] = malloc(sizes[i]);
                memset(objects[j], 2, malloc_usable_size(objects[j]));
            }
            for (unsigned j = 0; j < 20 * MANY / (i + 1); j++)
                if (times < 2 || j % 50) free(objects[j]);
            if (i % 5 == 0) malloc_trim(0);
        }
}

struct told {
    char **objects;
    unsigned count;
};

static void note_told(uintptr_t object, size_t size, void *argument) {
    struct told *told = argument;
    for (unsigned i = 0; i < SIZES; i++)
        if (object == (uintptr_t)told->objects[i]) told->count += size == malloc_usable_size(told->objects[i]);
}

static void tells(void) {
    char *objects[SIZES];
    struct told told = {objects, 0};
    for (unsigned i = 0; i < SIZES; i++) objects[i] = malloc(sizes[i]);
    CHECK(jw_malloc_iterate(0, SIZE_MAX, note_told, &told) == 0);
    CHECK(told.count == SIZES);
    for (unsigned i = 0; i < SIZES; i++) free(objects[i]);
    if (tags_wanted) CHECK(jw_seal() == ENOTSUP);
}

static _Atomic(bool) over;

static void *works(void *seed) {
    char *objects[64] = {0};
    uint64_t state = (uintptr_t)seed;
    while (!over) {
        unsigned slot = (unsigned)random_below(&state, 64);
        free(objects[slot]);
        size_t size = sizes[random_below(&state, SIZES)];
        memset(objects[slot] = malloc(size), 3, size);
    }
    for (unsigned slot = 0; slot < 64; slot++) free(objects[slot]);
    return NULL;
}

static void drop_text(void *cookie, const char *text, size_t length) {
    (void)cookie, (void)text, (void)length;
}

static void drop_told(uintptr_t object, size_t size, void *argument) {
    (void)object, (void)size, (void)argument;
}

/* What looks at other threads' free objects while they are allocated. */
static void watches(void) {
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, works, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < 30; i++) {
        jw_stats_print(drop_text, NULL, 0);
        CHECK(jw_malloc_iterate(0, SIZE_MAX, drop_told, NULL) == 0);
        malloc_trim(0);
    }
    over = true;
    for (unsigned i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void switches(void) {
    enum { OFF, ASYNC, SYNC };
    char *old = malloc(100);
    CHECK(jw_set_memory_tags(OFF) == 0);
    char *now = malloc(100);
    CHECK(tag_of(now) == 0 && !ends_in_fault(old + 200, false));
    free(old);
    free((char *)place_of(malloc(5000))); /* a program that loses the tags that it never had */
    CHECK(jw_set_memory_tags(tags_wanted ? SYNC : OFF) == 0);
    free(now);
    CHECK(jw_set_memory_tags(late ? ASYNC : SYNC) == (tags_wanted ? 0 : ENOTSUP));
    sees_after_free();
    enum { MEMTAG_TUNING = -102, HEAP_TAGGING_LEVEL = -204 }; /* bionic's; neighbours differ, whatever is asked for */
    CHECK(mallopt(MEMTAG_TUNING, 0) == 1);
    CHECK(mallopt(MEMTAG_TUNING, 1) == !tags_wanted && mallopt(HEAP_TAGGING_LEVEL, 0) == !tags_wanted);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    late = strcmp(arguments[1], "late") == 0;
    tags_wanted = strcmp(arguments[1], "nothing") != 0;
    if (strcmp(arguments[1], "zero") == 0) filled = 0;
    if (strcmp(arguments[1], "pattern") == 0) filled = 0xab;
    sees_after_free();
    sees_after_reuse();
    sees_neighbours();
    keeps_contents();
    reclaims();
    watches();
    see_misuses();
    switches();
    tells();
    return 0;
}
