/* short_threads.c - threads that come and go, one after the other.
 *
 *   short_threads kept    what one has freed waits for the next one: hardly a new page
 *   short_threads gone    where they come seldom, hardly more than cache_min is kept when one has ended
 *   short_threads left    what is kept goes if the program then calls malloc and free, though its caches serve it
 *   short_threads lone    after many short threads our thread is not started beside a lone one, but beside two
 */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guest_threads.h"
#include "tiers.h"

#define MB ((size_t)1 << 20)

enum { OBJECTS = 512, OBJECT = 64 << 10, PHASES = 24, FIRST_PHASES = 4, SLACK = 6 };

static char *objects[OBJECTS];

static void *use_32_megabytes(void *argument) {
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = malloc(OBJECT);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, OBJECT);
    }
    for (unsigned i = 0; i < OBJECTS; i++) free(objects[i]);
    return argument;
}

static void run(void *(*body)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static long page_faults(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

/* Each phase writes 8,192 pages. */
static void kept(void) {
    for (unsigned phase = 0; phase < FIRST_PHASES; phase++) run(use_32_megabytes);
    long before = page_faults();
    for (unsigned phase = FIRST_PHASES; phase < PHASES; phase++) run(use_32_megabytes);
    long faults = page_faults() - before;
    printf("%ld page faults\n", faults);
    if (!under_jwmalloc()) return;
    CHECK(faults < (PHASES - FIRST_PHASES) * (long)(OBJECTS * OBJECT / 4096) / 4);
    malloc_trim(0);
    CHECK(resident_bytes() < 12 * MB);
}

static void gone(void) {
    size_t before = resident_bytes();
    for (unsigned phase = 0; phase < FIRST_PHASES; phase++) {
        run(use_32_megabytes);
        printf("%zu KB more\n", (resident_bytes() - before) >> 10);
        if (under_jwmalloc()) AWAIT(resident_bytes() < before + (8 + SLACK) * MB); /* our thread may be at it */
        usleep(50000);                                                             /* more than the interval */
    }
}

static void *use_huge_objects(void *argument) {
    enum { HUGE_OBJECTS = 6, HUGE_OBJECT = 6 << 20 };
    for (unsigned i = 0; i < HUGE_OBJECTS; i++) {
        objects[i] = malloc(HUGE_OBJECT);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, HUGE_OBJECT);
    }
    for (unsigned i = 0; i < HUGE_OBJECTS; i++) free(objects[i]);
    return argument;
}

static void left(void) {
    enum { LOOKS = 500, PAIRS = 20000, SIZE = 100 };
    size_t before = resident_bytes();
    for (unsigned phase = 0; phase < FIRST_PHASES; phase++) run(use_huge_objects);
    printf("at first %zu KB more\n", (resident_bytes() - before) >> 10);
    unsigned looks = 0;
    while (looks < LOOKS && resident_bytes() > before + (8 + SLACK) * MB) {
        for (size_t i = 0; i < PAIRS; i++) {
            char *volatile object = malloc(SIZE); /* not left out by the compiler */
            free(object);
        }
        usleep(10000);
        looks++;
    }
    printf("%u looks, %zu KB more\n", looks, (resident_bytes() - before) >> 10);
    if (under_jwmalloc()) CHECK(looks < LOOKS);
}

static bool reclaimer_runs(void) {
    pid_t numbers[MOST_THREADS];
    bool found = false;
    for (unsigned i = threads(numbers); i-- > 0;) found |= is_reclaimer(numbers[i]);
    return found;
}

static void *wait_for_reclaimer(void *argument) {
    for (unsigned tries = 0; under_jwmalloc() && tries < 4000 && !reclaimer_runs(); tries++) usleep(5000);
    CHECK(!under_jwmalloc() || reclaimer_runs());
    return argument;
}

static void *live_alone_then_with_another(void *argument) {
    usleep(50000);
    CHECK(!reclaimer_runs());
    run(wait_for_reclaimer);
    return argument;
}

static void lone(void) {
    for (unsigned phase = 0; phase < PHASES; phase++) run(use_32_megabytes);
    run(live_alone_then_with_another);
    AWAIT(!reclaimer_runs());
}

int main(int count, char **arguments) {
    const char *scene = count > 1 ? arguments[1] : "";
    if (strcmp(scene, "kept") == 0) kept();
    else if (strcmp(scene, "gone") == 0) gone();
    else if (strcmp(scene, "left") == 0) left();
    else if (strcmp(scene, "lone") == 0) lone();
    else CHECK(!"a scene that there is");
    return 0;
}
