/* many_threads.c - threads created and joined by the thousand: what the first tenth needed must do for all.
 *
 *   many_threads [THREADS]
 */
#include <pthread.h>

#include "tiers.h"

enum { AT_ONCE = 8, ALLOWED_GROWTH = 1 << 20 };

/* Leaves one object behind, which the main thread frees. */
static void *live_shortly(void *number) {
    uint64_t seed = (uint64_t)(uintptr_t)number;
    void *objects[20];
    for (size_t i = 0; i < 20; i++) {
        objects[i] = malloc(random_below(&seed, (size_t)16 << i % 12) + 1);
        CHECK(objects[i] != NULL);
    }
    for (size_t i = 1; i < 20; i++) free(objects[i]);
    return objects[0];
}

static void create_and_join(size_t threads) {
    for (size_t done = 0; done < threads; done += AT_ONCE) {
        pthread_t ids[AT_ONCE];
        for (size_t i = 0; i < AT_ONCE; i++)
            CHECK(pthread_create(&ids[i], NULL, live_shortly, (void *)(done + i)) == 0);
        for (size_t i = 0; i < AT_ONCE; i++) {
            void *object;
            CHECK(pthread_join(ids[i], &object) == 0);
            free(object);
        }
    }
}

int main(int count, char **arguments) {
    size_t threads = count > 1 ? (size_t)atol(arguments[1]) : 100000;
    create_and_join(threads / 10);
    size_t early = resident_bytes(), early_mapped = proc_bytes("/proc/self/status", "VmSize");
    create_and_join(threads - threads / 10);
    size_t late = resident_bytes(), late_mapped = proc_bytes("/proc/self/status", "VmSize");
    printf("resident %zu then %zu bytes, mapped %zu then %zu\n", early, late, early_mapped, late_mapped);
    CHECK(late <= early + ALLOWED_GROWTH);
    /* The C library reserves 64 MB for each of its arenas, as it needs them. */
    if (under_jwmalloc() && early != 0) CHECK(late_mapped <= early_mapped + (16 << 20));
    return 0;
}
