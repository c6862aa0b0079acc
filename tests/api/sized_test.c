/* sized_test.c - a free is told the size that the program has asked for, after random work of all tiers: no such free
 * is reported, whichever range or mapping has served the object.
 *
 * After a realloc of the process each smaller size of more than half may be right: so the cases without come first. */
#include "conformance.h"

#include <pthread.h>

#if UINTPTR_MAX > 0xffffffffu
#define SIZE "m"
#else
#define SIZE "j"
#endif
#ifdef JW_PREFIXED
enum { DELETES = 0 }; /* C++'s operators are not ours, but a sanitizer's */
#else
enum { DELETES = 1 };
#endif
void delete_sized(void *object, size_t size) __asm__("_ZdlPv" SIZE) __attribute__((weak));
void delete_sized_aligned(void *object, size_t size, size_t alignment) __asm__("_ZdlPv" SIZE "St11align_val_t")
    __attribute__((weak));

enum { OBJECTS = 24, TIMES = 1500, THREADS = 4, MARKED = 64 };

struct object {
    char *bytes;
    size_t size, alignment; /* alignment 0: none was asked for */
    uint64_t seed;
};

struct work {
    struct object objects[OBJECTS];
    uint64_t random;
    size_t low, high; /* sizes; 0: of all tiers */
    bool resizes;
};

static size_t random_size(struct work *work) {
    if (work->high) return work->low + random_below(&work->random, work->high - work->low);
    return 1 + random_below(&work->random, (size_t)1 << random_below(&work->random, 24));
}

static size_t marked(const struct object *object) {
    return object->size < MARKED ? object->size : MARKED;
}

static void mark(const struct object *object) {
    size_t bytes = marked(object);
    pattern_fill(object->bytes, bytes, object->seed);
    pattern_fill(object->bytes + object->size - bytes, bytes, object->seed);
}

static bool is_marked(const struct object *object) {
    size_t bytes = marked(object);
    return object->size < 2 * MARKED || (pattern_holds(object->bytes, bytes, object->seed) &&
                                         pattern_holds(object->bytes + object->size - bytes, bytes, object->seed));
}

static void allocate_one(struct work *work, struct object *object) {
    *object = (struct object){.size = random_size(work), .seed = random_next(&work->random)};
    switch (object->seed % 4) {
    case 0: object->bytes = calloc(1, object->size); break;
    case 1:
        object->alignment = (size_t)16 << (object->seed >> 8) % 14;
        object->bytes = aligned_alloc(object->alignment, object->size);
        break;
    default: object->bytes = malloc(object->size);
    }
    size_t usable = malloc_usable_size(object->bytes), last = usable < MARKED ? usable : MARKED;
    CHECK(object->bytes != NULL && usable >= object->size);
    CHECK(object->seed % 4 != 0 || bytes_are_zero(object->bytes + usable - last, last));
    mark(object);
}

static void resize_one(struct work *work, struct object *object) {
    size_t size = random_below(&work->random, 2) ? random_size(work) : object->size / 2 + 1;
    CHECK((object->bytes = realloc(object->bytes, size)) != NULL);
    object->size = size;
    object->alignment = 0;
    mark(object);
}

static void free_one(struct object *object) {
    if (!object->bytes) return;
    CHECK(is_marked(object));
    bool deletes = DELETES && (object->seed >> 32 & 1);
    if (deletes && object->alignment && delete_sized_aligned)
        delete_sized_aligned(object->bytes, object->size, object->alignment);
    else if (object->alignment) free_aligned_sized(object->bytes, object->alignment, object->size);
    else if (deletes && delete_sized) delete_sized(object->bytes, object->size);
    else free_sized(object->bytes, object->size);
    object->bytes = NULL;
}

static void *do_work(void *argument) {
    struct work *work = argument;
    for (size_t i = 0; i < TIMES; i++) {
        struct object *object = &work->objects[random_below(&work->random, OBJECTS)];
        if (work->resizes && object->bytes && random_below(&work->random, 3) == 0) {
            resize_one(work, object);
            continue;
        }
        free_one(object);
        if (random_below(&work->random, 8) > 0) allocate_one(work, object);
    }
    return NULL;
}

/* Each thread leaves its objects to this one. */
static void work_with_threads(size_t low, size_t high, bool resizes) {
    static struct work works[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        works[i] = (struct work){.random = i + 1, .low = low, .high = high, .resizes = resizes};
        if (i > 0) assert_int_equal(pthread_create(&threads[i], NULL, do_work, &works[i]), 0);
    }
    do_work(&works[0]);
    for (size_t i = 0; i < THREADS; i++) {
        if (i > 0) assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (size_t j = 0; j < OBJECTS; j++) free_one(&works[i].objects[j]);
    }
}

static void work_alone(size_t low, size_t high) {
    static struct work work;
    work = (struct work){.random = high, .low = low, .high = high};
    do_work(&work);
    for (size_t i = 0; i < OBJECTS; i++) free_one(&work.objects[i]);
}

static void large_objects_have_their_sizes(void **state) {
    (void)state;
    if (!free_sized || !free_aligned_sized) skip();
    work_alone(14 * KB, 64 * KB);
    work_alone(14 * KB, MB);
    work_alone(MB, 4 * MB);
}

static void objects_of_all_tiers_have_their_sizes(void **state) {
    (void)state;
    if (!free_sized || !free_aligned_sized) skip();
    work_alone(0, 0);
}

static void threads_objects_have_their_sizes(void **state) {
    (void)state;
    if (!free_sized || !free_aligned_sized) skip();
    work_with_threads(14 * KB, MB, false);
    work_with_threads(0, 0, false);
}

static void resized_objects_have_their_sizes(void **state) {
    (void)state;
    if (!free_sized || !free_aligned_sized) skip();
    work_with_threads(14 * KB, MB, true);
    work_with_threads(0, 0, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_objects_have_their_sizes),
        cmocka_unit_test(objects_of_all_tiers_have_their_sizes),
        cmocka_unit_test(threads_objects_have_their_sizes),
        cmocka_unit_test(resized_objects_have_their_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
