/* scenes.c - what the stepped thread does: every path of the allocator, by a thread that is new to it and by one that
 * is not. */
#include "frozen.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "crowd.h"

enum { FEW = 12, MANY = 600, GIFTS = 4096 };

static void *objects[MANY];
static _Atomic(void *) gifts[GIFTS];
static atomic_uint given, taken;

/* --- Objects of the victim that the others free, bit by bit. */

static void give(void *object) {
    unsigned place = atomic_fetch_add(&given, 1) % GIFTS;
    free(atomic_exchange(&gifts[place], object));
}

void scenes_take_gifts(unsigned most) {
    while (most-- > 0) free(atomic_exchange(&gifts[atomic_fetch_add(&taken, 1) % GIFTS], NULL));
}

static void give_many(void) {
    for (size_t i = 0; i < MANY; i++) give(malloc(i % 3 == 0 ? 2000 : i % 3 == 1 ? 64 : 3000));
}

static void warm_up(void) {
    static struct member member;
    member.random = 5;
    crowd_work(&member, 20000);
    crowd_rest(&member);
    give_many();
}

/* --- */

static void allocate(size_t count, size_t size) {
    for (size_t i = 0; i < count; i++) {
        objects[i] = malloc(size);
        CHECK(objects[i] != NULL);
        pattern_fill(objects[i], 8, i);
    }
}

static void release(size_t count) {
    for (size_t i = 0; i < count; i++) {
        CHECK(objects[i] == NULL || pattern_holds(objects[i], 8, i));
        free(objects[i]);
        objects[i] = NULL;
    }
}

void scenes_clean_up(void) {
    release(MANY);
}

static void small(void) {
    for (int round = 0; round < 2; round++) {
        allocate(FEW, 40);
        release(FEW);
    }
}

/* Two objects to a slab: every second allocation is a refill, every second free empties a slab. */
static void refill(void) {
    allocate(MANY / 20, 2000);
    release(MANY / 20);
}

static void zeroed(void) {
    static const size_t sizes[] = {100, 1000, 9000, 30000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *object = calloc(1, sizes[i]);
        CHECK(object != NULL && bytes_are_zero(object, sizes[i]));
        memset(object, 1, sizes[i]);
        free(object);
    }
}

static void cross_prepare(void) {
    for (size_t i = 0; i < FEW * 10; i++) {
        static const size_t sizes[] = {2000, 2000, 2000, 64, 900, 3000, 9000, 20000, 70000};
        objects[i] = malloc(sizes[i % (sizeof sizes / sizeof *sizes)]);
        pattern_fill(objects[i], 8, i);
    }
}

static void cross_free(void) {
    release(FEW * 10);
}

static void resize(void) {
    static const size_t sizes[] = {10, 100, 1900, 3000, 12000, 20000, 60000, 9000, 50};
    char *object = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        object = realloc(object, sizes[i]);
        CHECK(object != NULL);
        if (i > 0) CHECK(pattern_holds(object, 8, 1));
        pattern_fill(object, 8, 1);
    }
    free(object);
}

static void middle(void) {
    for (size_t size = 2100; size <= 14336; size += 2900) {
        allocate(6, size);
        release(6);
    }
}

/* Weights that split in different ways, freed so that some join on the left, some on the right. */
static void split_join(void) {
    static const size_t granules[] = {5, 4, 7, 1, 13, 25, 6, 49, 8, 200};
    enum { COUNT = sizeof granules / sizeof *granules };
    char *ranges[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        ranges[i] = malloc((granules[i] + 3) * 4096);
        CHECK(ranges[i] != NULL);
        pattern_fill(ranges[i], 8, i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        size_t which = i * 7 % COUNT;
        CHECK(pattern_holds(ranges[which], 8, which));
        free(ranges[which]);
    }
}

/* More free ranges of one class than a Nest has slots, none with a free neighbour: the rest is in the list. */
static void list_prepare(void) {
    for (size_t i = 0; i < MANY; i++) {
        objects[i] = malloc(20000);
        pattern_fill(objects[i], 8, i);
    }
    for (size_t i = 0; i < MANY; i += 2) {
        free(objects[i]);
        objects[i] = NULL;
    }
}

static void list(void) {
    void *more[FEW * 4];
    for (size_t i = 0; i < FEW * 4; i++) more[i] = malloc(20000);
    for (size_t i = 0; i < FEW * 4; i += 2) free(more[i]);
    for (size_t i = 1; i < FEW * 4; i += 2) free(more[i]);
}

static void huge(void) {
    char *object = malloc(5 << 20);
    CHECK(object != NULL);
    pattern_fill(object, 8, 1);
    object = realloc(object, 9 << 20);
    CHECK(object != NULL && pattern_holds(object, 8, 1));
    object = realloc(object, 6 << 20);
    CHECK(object != NULL && pattern_holds(object, 8, 1));
    free(object);
}

static void aligned(void) {
    for (size_t alignment = 32; alignment <= 1 << 16; alignment *= 4) {
        char *object = aligned_alloc(alignment, alignment * 2);
        CHECK(object != NULL && (uintptr_t)object % alignment == 0);
        free(object);
    }
}

static void round_prepare(void) {
    list_prepare();
    give_many();
}

static void round_of_reclamation(void) {
    malloc_trim(0);
}

static void statistics(void) {
    mallinfo2();
}

/* Objects stay behind in slabs of all states, and the thread is stepped until it is gone. */
static void leave_objects(void) {
    give_many();
    allocate(FEW, 100);
    release(FEW);
}

static void leave(void) {
    syscall(SYS_getpid);
}

/* Allocates in the last of the destructors, when the heap has been abandoned. */
static void destroy_late(void *turn) {
    static pthread_key_t key;
    uintptr_t left = (uintptr_t)turn;
    if (left == 3) CHECK(pthread_key_create(&key, destroy_late) == 0);
    if (left > 0) CHECK(pthread_setspecific(key, (void *)(left - 1)) == 0);
    allocate(2, 100);
    release(2);
    if (left == 1) CHECK(pthread_key_delete(key) == 0);
}

static void leave_late(void) {
    allocate(1, 10);
    release(1);
    destroy_late((void *)3);
}

static void fork_here(void) {
    pid_t child = fork();
    if (child == 0) {
        free(malloc(100));
        free(malloc(100000));
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

#define BOTH(name, prepare, run)                                                                                       \
    {name " (cold)", prepare, NULL, run}, {                                                                            \
        name " (warm)", prepare, warm_up, run                                                                          \
    }

const struct scene scenes[] = {
    BOTH("small", NULL, small),
    BOTH("refill", NULL, refill),
    BOTH("calloc", NULL, zeroed),
    BOTH("cross-thread free", cross_prepare, cross_free),
    BOTH("realloc", NULL, resize),
    BOTH("midend", NULL, middle),
    BOTH("split and join", NULL, split_join),
    BOTH("list", list_prepare, list),
    BOTH("huge", NULL, huge),
    BOTH("aligned", NULL, aligned),
    BOTH("round", round_prepare, round_of_reclamation),
    {"statistics", NULL, warm_up, statistics},
    BOTH("fork", NULL, fork_here),
    {"thread exit", NULL, leave_objects, leave},
    {"thread exit (warm)", NULL, warm_up, leave},
    {"late destructors", NULL, NULL, leave_late},
};
const uint32_t scene_count = sizeof scenes / sizeof *scenes;
