/* tls_destructors.c - allocation in the destructors of thread-specific data, in every round that POSIX has of them.
 * Some threads make their first allocation there. */
#include <limits.h>
#include <pthread.h>

#include "tiers.h"

enum { KEYS = 8, THREADS = 500 };

static pthread_key_t keys[KEYS];

struct value {
    pthread_key_t key;
    int round;
    char filling[1000];
};

static struct value *value_new(pthread_key_t key, int round) {
    struct value *value = malloc(sizeof *value);
    CHECK(value != NULL);
    value->key = key;
    value->round = round;
    pattern_fill(value->filling, sizeof value->filling, key);
    return value;
}

/* Allocates again, and leaves a fresh object for the next round. */
static void destroy(void *argument) {
    struct value *value = argument;
    CHECK(pattern_holds(value->filling, sizeof value->filling, value->key));
    if (value->round % 2 == 0) tiers_work(value->key);
    if (value->round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        struct value *next = value_new(value->key, value->round + 1);
        CHECK(pthread_setspecific(value->key, next) == 0);
    }
    free(value);
}

static void first_allocation_ever(void *unused) {
    (void)unused;
    tiers_work(9);
}

static void *set_values(void *unused) {
    (void)unused;
    for (size_t i = 0; i < KEYS; i++) CHECK(pthread_setspecific(keys[i], value_new(keys[i], 0)) == 0);
    return NULL;
}

static void *set_only(void *key) {
    CHECK(pthread_setspecific(*(pthread_key_t *)key, key) == 0);
    return NULL;
}

int main(void) {
    static pthread_key_t late_key;
    for (size_t i = 0; i < KEYS / 2; i++) CHECK(pthread_key_create(&keys[i], destroy) == 0);
    free(malloc(1));
    for (size_t i = KEYS / 2; i < KEYS; i++) CHECK(pthread_key_create(&keys[i], destroy) == 0);
    CHECK(pthread_key_create(&late_key, first_allocation_ever) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_t thread, other;
        CHECK(pthread_create(&thread, NULL, set_values, NULL) == 0);
        CHECK(pthread_create(&other, NULL, set_only, &late_key) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(pthread_join(other, NULL) == 0);
    }
    return 0;
}
