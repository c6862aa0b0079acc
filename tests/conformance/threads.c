/* threads.c - threads that begin, end, are cancelled, have small stacks, share objects; destructors of all kinds. */
#include "cases.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>

static void *use_tiers(void *seed) {
    tiers_work((uint64_t)(uintptr_t)seed);
    return NULL;
}

static void run_threads(size_t count, void *(*body)(void *), const pthread_attr_t *attributes) {
    pthread_t threads[64];
    for (size_t i = 0; i < count; i++) CHECK(pthread_create(&threads[i], attributes, body, (void *)i) == 0);
    for (size_t i = 0; i < count; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void threads_come_and_go(size_t count, size_t rounds) {
    for (size_t round = 0; round < rounds; round++) run_threads(count, use_tiers, NULL);
}

static void smallest_stack(size_t size, size_t unused) {
    (void)unused;
    pthread_attr_t attributes;
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, size > least ? size : least) == 0);
    for (int i = 0; i < 10; i++) run_threads(4, use_tiers, &attributes);
    pthread_attr_destroy(&attributes);
}

static sem_t done;

static void *use_tiers_and_tell(void *seed) {
    use_tiers(seed);
    sem_post(&done);
    return NULL;
}

static void detached(size_t count, size_t unused) {
    (void)unused;
    sem_init(&done, 0, 0);
    for (size_t i = 0; i < count; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, use_tiers_and_tell, NULL) == 0 && pthread_detach(thread) == 0);
    }
    for (size_t i = 0; i < count; i++)
        while (sem_wait(&done) != 0) {
        }
    tiers_work(1);
}

/* --- Objects that outlive their threads, and are freed by others */

static void *leave_objects(void *seed) {
    struct tiers *tiers = malloc(sizeof *tiers);
    tiers_allocate(tiers, (uint64_t)(uintptr_t)seed);
    return tiers;
}

static void heritage(size_t count, size_t unused) {
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        pthread_t thread;
        void *tiers = NULL;
        CHECK(pthread_create(&thread, NULL, leave_objects, (void *)i) == 0 && pthread_join(thread, &tiers) == 0);
        tiers_free(tiers, i);
        free(tiers);
    }
}

static _Atomic(void *) boxes[256];

static void *exchange(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed + 1;
    for (int i = 0; i < 20000; i++) {
        size_t size = random_below(&random, 5000) + 8;
        uint64_t *object = malloc(size), *other;
        *object = size;
        other = atomic_exchange(&boxes[random_below(&random, 256)], object);
        if (other == NULL) continue;
        CHECK(*other <= malloc_usable_size(other));
        if (random_below(&random, 8) == 0) other = realloc(other, *other * 2);
        free(other);
    }
    return NULL;
}

static void objects_change_hands(size_t count, size_t unused) {
    (void)unused;
    run_threads(count, exchange, NULL);
}

/* --- Destructors */

static pthread_key_t keys[40];
static _Atomic(unsigned) destroyed;

static void destroy(void *value) {
    CHECK(pattern_holds(value, 100, 1));
    free(value);
    tiers_work(1);
    destroyed++;
}

static void *set_keys(void *unused) {
    (void)unused;
    for (size_t i = 0; i < 40; i++) {
        char *value = malloc(100);
        pattern_fill(value, 100, 1);
        CHECK(pthread_setspecific(keys[i], value) == 0); /* the last ones make the C library allocate */
    }
    return NULL;
}

static void key_destructors(size_t count, size_t unused) {
    (void)unused;
    for (size_t i = 0; i < 40; i++) CHECK(pthread_key_create(&keys[i], destroy) == 0);
    run_threads(count, set_keys, NULL);
    CHECK(destroyed == 40 * count);
}

static pthread_key_t again;

static void destroy_again(void *value) {
    static _Thread_local unsigned rounds;
    free(value);
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(again, malloc(500));
}

static void *set_again(void *unused) {
    (void)unused;
    pthread_setspecific(again, malloc(500));
    return NULL;
}

static void destructors_that_allocate(size_t count, size_t unused) {
    (void)unused;
    CHECK(pthread_key_create(&again, destroy_again) == 0);
    run_threads(count, set_again, NULL);
}

static int c11_body(void *unused) {
    static once_flag once = ONCE_FLAG_INIT;
    (void)unused;
    call_once(&once, (void (*)(void))tzset);
    tiers_work(3);
    return 3;
}

static void c11_threads(size_t count, size_t unused) {
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        thrd_t thread;
        int result = 0;
        CHECK(thrd_create(&thread, c11_body, NULL) == thrd_success);
        CHECK(thrd_join(thread, &result) == thrd_success && result == 3);
    }
}

/* --- Cancellation */

static void clean_up(void *object) {
    free(object);
    tiers_work(4);
}

static void *work_until_cancelled(void *ready) {
    for (;;) {
        void *object = malloc(1000);
        pthread_cleanup_push(clean_up, object);
        sem_post(ready);
        tiers_work(5);
        pthread_testcancel();
        pthread_cleanup_pop(1);
    }
}

static void cancelled(size_t count, size_t unused) {
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        pthread_t thread;
        sem_t ready;
        void *result = NULL;
        sem_init(&ready, 0, 0);
        CHECK(pthread_create(&thread, NULL, work_until_cancelled, &ready) == 0);
        sem_wait(&ready);
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        tiers_work(6);
    }
}

static void *exit_early(void *unused) {
    (void)unused;
    malloc(100);
    pthread_exit(malloc(200));
}

static void ended_by_exit(size_t count, size_t unused) {
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        pthread_t thread;
        void *result = NULL;
        CHECK(pthread_create(&thread, NULL, exit_early, NULL) == 0 && pthread_join(thread, &result) == 0);
        free(result);
    }
}

static void *after_main(void *main_thread) {
    CHECK(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
    tiers_work(7);
    exit(0);
}

static void main_ends_first(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    static pthread_t main_thread;
    pthread_t thread;
    main_thread = pthread_self();
    CHECK(pthread_create(&thread, NULL, after_main, &main_thread) == 0);
    pthread_exit(NULL);
}

void add_threads(void) {
    add("%zu threads", threads_come_and_go, 1, 100);
    add("%zu threads, %zu times", threads_come_and_go, 16, 10);
    add("%zu threads at once", threads_come_and_go, 64, 3);
    for (size_t size = 0; size <= 64 * KB; size = size ? size * 2 : 16 * KB)
        add("stack of %zu bytes", smallest_stack, size, 0);
    add("%zu detached threads", detached, 50, 0);
    add("objects of %zu threads that have ended", heritage, 100, 0);
    add("objects change hands, %zu threads", objects_change_hands, 2, 0);
    add("objects change hands, %zu threads", objects_change_hands, 8, 0);
    add("destructors of keys, %zu threads", key_destructors, 8, 0);
    add("destructors that allocate, %zu threads", destructors_that_allocate, 8, 0);
    add("%zu C11 threads", c11_threads, 50, 0);
    add("%zu cancelled threads", cancelled, 30, 0);
    add("%zu threads that exit", ended_by_exit, 100, 0);
    add("main ends before its threads", main_ends_first, 0, 0);
}
