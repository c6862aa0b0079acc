/* watched.c CASE [SIZE] - one mistake, or none, with objects of jw_malloc's, for a tool to find (watched.py). */
#include <jwmalloc.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int holds, int line) {
    if (holds) return;
    fprintf(stderr, "watched.c:%d does not hold\n", line);
    _Exit(3);
}
#define NEED(condition) need((condition) != 0, __LINE__)

static void use_after_free(size_t size) {
    volatile char *object = jw_malloc(size);
    object[0] = 1;
    jw_free((void *)object);
    object[size - 1] = 2;
}

static void overflow(size_t size) {
    volatile char *object = jw_malloc(size);
    object[size] = 1;
    jw_free((void *)object);
}

static void underflow(size_t size) {
    volatile char *object = jw_aligned_alloc(64, size);
    object[-1] = 1;
    jw_free((void *)object);
}

static void after_realloc(size_t size) {
    volatile char *object = jw_realloc(jw_calloc(1, size), 3 * size);
    object[3 * size] = 1;
    jw_free((void *)object);
}

static void double_free(size_t size) {
    void *volatile object = jw_malloc(size);
    jw_free(object);
    jw_free(object);
}

/* A list whose head is lost: the rest of it is, too. */
static void leak(size_t size) {
    void **volatile head = NULL;
    for (int i = 0; i < 3; i++) {
        void **next = jw_malloc(size);
        *next = head;
        head = next;
    }
    head = NULL;
}

static void unset(size_t size) {
    volatile char *object = jw_malloc(size);
    if (object[size / 2] == 1) puts("one");
    jw_free((void *)object);
}

static void try_aligned(size_t size) {
    for (size_t alignment = 1; alignment <= 1 << 16; alignment *= 4) {
        void *object = NULL;
        char *aligned = jw_aligned_alloc(alignment, size);
        NEED(aligned != NULL && (uintptr_t)aligned % alignment == 0);
        memset(aligned, 1, size);
        jw_free_aligned_sized(aligned, alignment, size);
        if (alignment < sizeof(void *)) continue;
        NEED(jw_posix_memalign(&object, alignment, size) == 0 && (uintptr_t)object % alignment == 0);
        jw_cfree(object);
    }
    jw_free(jw_memalign(48, size));
    jw_free(jw_valloc(size));
    jw_free(jw_pvalloc(size));
}

static void *try_all(void *unused) {
    for (size_t size = 1; size < 6 << 20; size = size * 7 + 1) {
        char *object = jw_malloc(size), *zeroed = jw_calloc(size, 1);
        NEED(object != NULL && zeroed != NULL && jw_malloc_usable_size(object) >= size);
        memset(object, 1, size);
        for (size_t i = 0; i < size; i += i < 64 ? 1 : 4093) NEED(zeroed[i] == 0);
        object = jw_realloc(object, 2 * size);
        NEED(object != NULL && object[size - 1] == 1);
        object = jw_reallocarray(object, size, 1);
        NEED(object != NULL && object[0] == 1);
        jw_free_sized(object, size);
        jw_free(zeroed);
        try_aligned(size);
    }
    return unused;
}

/* Every function, by several threads, with each kind of failure. */
static void correct(size_t size) {
    pthread_t threads[3];
    volatile size_t too_much = SIZE_MAX - size;
    for (int i = 0; i < 3; i++) NEED(pthread_create(&threads[i], NULL, try_all, NULL) == 0);
    for (int i = 0; i < 3; i++) NEED(pthread_join(threads[i], NULL) == 0);
    try_all(NULL);
    jw_free(NULL);
    jw_free(jw_malloc(0));
    void *object = jw_malloc(size);
    errno = 0;
    NEED(jw_malloc(too_much) == NULL && errno == ENOMEM);
    NEED(jw_calloc(too_much, 3) == NULL);
    NEED(jw_realloc(object, too_much) == NULL);
    NEED(jw_aligned_alloc(64, too_much) == NULL);
    NEED(jw_aligned_alloc(3, size) == NULL && errno == EINVAL);
    NEED(jw_malloc_good_size(size) >= size);
    NEED(jw_realloc(object, 0) == NULL);
    jw_malloc_trim(0);
    NEED(jw_mallinfo2().hblks < 1000);
    NEED(jw_reclaim_pause() == 0);
    jw_reclaim_resume();
    puts("correct");
}

enum { THREADS = 4, SLOTS = 64, ROUNDS = 10000 };
static _Atomic(uintptr_t) slots[SLOTS];

static void *pass_on(void *unused) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t size = (size_t)16 << round % 12;
        char *object = round % 3 ? jw_malloc(size) : jw_calloc(1, size);
        NEED(object != NULL);
        memset(object, 1, size);
        char *other = (char *)atomic_exchange_explicit(&slots[round % SLOTS], (uintptr_t)object, memory_order_acq_rel);
        if (other != NULL) other[0] = 2;
        jw_free(other);
    }
    return unused;
}

/* Memory goes from the thread that frees it to one that allocates it, by the allocator alone. */
static void passed_on(size_t size) {
    (void)size;
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) NEED(pthread_create(&threads[i], NULL, pass_on, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++) NEED(pthread_join(threads[i], NULL) == 0);
    for (unsigned i = 0; i < SLOTS; i++) jw_free((void *)slots[i]);
    puts("correct");
}

static char *_Atomic shared;

static void *write_once(void *unused) {
    atomic_load_explicit(&shared, memory_order_relaxed)[0] = 1;
    return unused;
}

/* A real race on an object. */
static void race(size_t size) {
    pthread_t threads[2];
    atomic_store_explicit(&shared, jw_malloc(size), memory_order_relaxed);
    for (int i = 0; i < 2; i++) NEED(pthread_create(&threads[i], NULL, write_once, NULL) == 0);
    for (int i = 0; i < 2; i++) NEED(pthread_join(threads[i], NULL) == 0);
    jw_free(shared);
}

static const struct {
    const char *name;
    void (*run)(size_t size);
} cases[] = {
    {"use_after_free", use_after_free},
    {"overflow", overflow},
    {"underflow", underflow},
    {"after_realloc", after_realloc},
    {"leak", leak},
    {"double_free", double_free},
    {"unset", unset},
    {"correct", correct},
    {"passed_on", passed_on},
    {"race", race},
};

int main(int count, char **words) {
    size_t size = count > 2 ? strtoul(words[2], NULL, 10) : 40;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && count > 1; i++) {
        if (strcmp(cases[i].name, words[1]) != 0) continue;
        cases[i].run(size);
        return 0;
    }
    return 4;
}
