/* old_links.c - live objects that hold what a free object held at the same address, or anywhere: no free of them is a
 * double free, by whichever thread, and their memory comes back.
 */
#include <malloc.h>
#include <pthread.h>

#include "check.h"
#include "entry_points.h"

enum { MANY = 4000, SOME = 300 };
static void *objects[MANY];
static void *kept; /* of the same slab, so that it stays */

static uint64_t first_word(const void *object) {
    return *(const volatile uint64_t *)object;
}

/* The compiler shall know nothing of where an address comes from. */
static void *hidden(void *object) {
    __asm__ volatile("" : "+r"(object));
    return object;
}

static void *free_it(void *object) {
    free(object);
    return NULL;
}

static void *grow_it(void *object) {
    return realloc(object, 2 * malloc_usable_size(object));
}

static void *elsewhere(void *(*body)(void *), void *object) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, body, object) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    return result;
}

/* An object whose first word is what stood there, or in the one freed after it, while it was free. */
static uint64_t *with_old_link(size_t size, bool own) {
    void *others[SOME];
    uint64_t *one = malloc(size), *two = malloc(size), *again = NULL;
    kept = malloc(size);
    CHECK(kept && one && two);
    uint64_t *place = hidden(one);
    free(two);
    free(one);
    uint64_t link = first_word(own ? place : hidden(two));
    unsigned count = 0;
    while (count < SOME && again != place) others[count++] = again = malloc(size);
    CHECK(again == place);
    for (unsigned i = 0; i + 1 < count; i++) free(others[i]);
    memset(again, 0x5a, size);
    *again = link;
    return again;
}

static void stays_whole(uint64_t *object, size_t size, uint64_t link) {
    CHECK(object && *object == link);
    for (size_t i = 8; i < size; i++) CHECK(((unsigned char *)object)[i] == 0x5a);
}

/* For all of a few slabs. */
static unsigned enough(size_t size) {
    return size < 256 ? MANY : SOME;
}

/* Each address once, and the one that was freed among them. */
static void comes_back(const void *freed, size_t size) {
    bool found = false;
    malloc_trim(0); /* its owner looks at what others have freed */
    for (unsigned i = 0; i < enough(size); i++) {
        objects[i] = malloc(size);
        found |= objects[i] == freed;
        pattern_fill(objects[i], size, i);
    }
    for (unsigned i = 0; i < enough(size); i++) CHECK(pattern_holds(objects[i], size, i));
    for (unsigned i = 0; i < enough(size); i++) free(objects[i]);
    CHECK(found || size > 1000); /* a larger one may have had its slab to itself */
    free(kept);
}

static void replayed(size_t size) {
    for (unsigned own = 0; own < 2; own++) {
        uint64_t *object = with_old_link(size, own), link = *object;
        void *place = hidden(object);
        CHECK(malloc_usable_size(object) >= size);
        object = realloc(object, size);
        stays_whole(object, size, link);
        free(object);
        comes_back(place, size);

        object = with_old_link(size, own);
        place = hidden(object);
        elsewhere(free_it, object);
        comes_back(place, size);

        object = with_old_link(size, own);
        link = *object;
        object = elsewhere(grow_it, object);
        stays_whole(object, size, link);
        elsewhere(free_it, object);
        free(kept);

        object = with_old_link(size, own);
        link = *object;
        object = realloc(object, 3 * size);
        stays_whole(object, size, link);
        free(object);
        free(kept);
    }
}

/* What was freed as small objects is given out as a large one, unwritten, and shrunk: the old word is copied. */
static void copied(size_t size, size_t large) {
    for (unsigned i = 0; i < MANY; i++) objects[i] = malloc(size);
    for (unsigned i = 0; i < MANY; i++) free(objects[i]);
    for (unsigned i = 0; i < 40; i++) {
        objects[i] = realloc(malloc(large), i % 2 ? 16 : 160);
        CHECK(objects[i] && malloc_usable_size(objects[i]) >= 16);
    }
    for (unsigned i = 0; i < 20; i++) free(objects[i]);
    for (unsigned i = 20; i < 40; i++) elsewhere(free_it, objects[i]);
}

static pthread_barrier_t filled, freed;

/* Makes objects whose first words are those of a free object, and sleeps. */
static void *sleeper(void *size) {
    uint64_t words[2], *one = malloc((size_t)size), *place = hidden(one);
    CHECK(one);
    free(one);
    memcpy(words, place, sizeof words);
    for (unsigned i = 0; i < MANY; i++) {
        objects[i] = malloc((size_t)size);
        CHECK(objects[i]);
        memcpy(objects[i], words, sizeof words);
    }
    pthread_barrier_wait(&filled);
    pthread_barrier_wait(&freed);
    return NULL;
}

/* The bytes in use, if possible not more than wanted: a range that a round gives back at the moment counts, too. */
static size_t in_use(size_t wanted) {
    size_t bytes = mallinfo2().uordblks;
    for (unsigned looks = 0; bytes > wanted && looks < 1000; looks++) {
        usleep(1000);
        bytes = mallinfo2().uordblks;
    }
    return bytes;
}

/* Questions to a thread that sleeps keep little memory: the objects are free before the thread wakes up. */
static void freed_beside_a_sleeper(size_t size) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleeper, (void *)size) == 0);
    pthread_barrier_wait(&filled);
    size_t before = mallinfo2().uordblks, wanted = before - MANY * size * 9 / 10;
    for (unsigned i = 0; i < MANY; i++) free(objects[i]);
    CHECK(in_use(wanted) <= wanted);
    pthread_barrier_wait(&freed);
    pthread_join(thread, NULL);
}

int main(void) {
    if (!under_jwmalloc()) check_skip("other mallocs may tell as they like what is written into free memory");
    CHECK(!pthread_barrier_init(&filled, NULL, 2) && !pthread_barrier_init(&freed, NULL, 2));
    for (unsigned round = 0; round < 3; round++) {
        static const size_t sizes[] = {8, 16, 64, 240, 336, 1000, 2048, 3000, 4096, 5000};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) replayed(sizes[i]);
        copied(1000, 32000);
        copied(300, 3000);
        copied(100, 9000);
        copied(2048, 100000);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (sizes[i] >= 16) freed_beside_a_sleeper(sizes[i]);
    }
    return 0;
}
