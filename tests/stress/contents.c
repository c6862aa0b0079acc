/* contents.c - threads whose objects hold whatever was there before them: bytes that nobody wrote, words that they have
 * seen in other objects, also in freed ones. No such content may be taken for the allocator's own.
 *
 *   contents [THREADS [OPERATIONS [GENERATIONS [SEED]]]]
 *
 * The work of each thread is fixed by its seed. Objects change hands, threads end with objects left.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"
#include "entry_points.h"

enum { HELD = 400, MAILBOXES = 64, MAX_THREADS = 64, SEEN = 512, WINDOW = 4096, LONGEST_RUN = 64 };

/* `first` is what its first eight bytes must be: only its thread may change them. */
struct object {
    char *bytes;
    size_t size;
    uint64_t first;
};

static struct mailbox {
    atomic_flag busy;
    struct object object;
} mailboxes[MAILBOXES];

static struct worker {
    pthread_t thread;
    uint64_t seed;
    struct object held[HELD];
    struct {
        char *address;
        uint64_t word;
    } seen[SEEN];
    size_t seen_count;
    int pipe[2];
} workers[MAX_THREADS];

static size_t operations = 20000;

/* One size for a while, then another: slabs are emptied and become something else. */
static size_t random_size(uint64_t *state) {
    uint64_t kind = random_below(state, 100);
    if (kind < 40) return 8 + random_below(state, 40);
    if (kind < 70) return 8 + random_below(state, (size_t)16 << random_below(state, 8));
    if (kind < 90) return 2048 + random_below(state, 14 << 10);
    if (kind < 96) return 16384 + random_below(state, 100 << 10);
    /* huge: such an address shares its record with an object that may be another thread's */
    return (4 << 20) + random_below(state, 1 << 20);
}

static void note(struct object *object) {
    if (object->size >= sizeof object->first) memcpy(&object->first, object->bytes, sizeof object->first);
}

static void look_after(const struct object *object) {
    CHECK(object->size < sizeof object->first || memcmp(&object->first, object->bytes, sizeof object->first) == 0);
}

static void see(struct worker *worker, char *address, uint64_t word) {
    if (word == 0) return;
    worker->seen[worker->seen_count % SEEN].address = address;
    worker->seen[worker->seen_count++ % SEEN].word = word;
}

/* Words of a live object, wherever a smaller object may have begun. */
static void see_all(struct worker *worker, const struct object *object) {
    size_t most = object->size < WINDOW ? object->size : WINDOW;
    for (size_t at = 0; at + 8 <= most; at += object->size < 256 ? 8 : most / 32 / 8 * 8 + 8) {
        uint64_t word;
        memcpy(&word, object->bytes + at, sizeof word);
        see(worker, object->bytes + at, word);
    }
}

/* The memory may be gone, which a system call tells. */
static void see_freed(struct worker *worker, char *address) {
    uint64_t word;
    if (syscall(SYS_write, worker->pipe[1], address, sizeof word) != (long)sizeof word) return;
    CHECK(read(worker->pipe[0], &word, sizeof word) == (ssize_t)sizeof word);
    see(worker, address, word);
}

static void put(struct object *object, uint64_t word) {
    memcpy(object->bytes, &word, object->size < sizeof word ? object->size : sizeof word);
    note(object);
}

static void put_seen(struct worker *worker, struct object *object, uint64_t *state) {
    size_t known = worker->seen_count < SEEN ? worker->seen_count : SEEN;
    uintptr_t here = (uintptr_t)object->bytes;
    for (size_t i = 0; i < known; i++) /* at the same address again */
        if (worker->seen[i].address == object->bytes && random_below(state, 4) != 0) {
            put(object, worker->seen[i].word);
            return;
        }
    if (known == 0) return;
    size_t i = random_below(state, known);
    switch (random_below(state, 6)) {
    case 0: put(object, worker->seen[i].word); break;
    case 1: put(object, worker->seen[i].word ^ (uintptr_t)worker->seen[i].address ^ here); break;
    case 2: put(object, random_below(state, 2) ? ~(uint64_t)0 << random_below(state, 64) : here | 1); break;
    default: break; /* it stays as it is */
    }
}

static void object_new(struct worker *worker, struct object *object, size_t size, uint64_t *state) {
    object->size = size;
    object->bytes = random_below(state, 8) == 0 ? aligned_alloc(16 << random_below(state, 5), size) : malloc(size);
    CHECK(object->bytes != NULL);
    note(object);
    put_seen(worker, object, state);
    CHECK(malloc_usable_size(object->bytes) >= size);
}

static void object_free(struct worker *worker, struct object *object, uint64_t *state) {
    char *bytes = object->bytes;
    if (bytes == NULL) return;
    look_after(object);
    if (worker != NULL && random_below(state, 4) == 0) see_all(worker, object);
    object->bytes = NULL;
    free(bytes);
    if (worker != NULL && random_below(state, 4) == 0) see_freed(worker, bytes);
}

static void object_resize(struct object *object, uint64_t *state) {
    size_t size = random_size(state);
    look_after(object);
    bool has = object->size >= 8 && size >= 8;
    uint64_t first = object->first;
    object->bytes = realloc(object->bytes, size);
    CHECK(object->bytes != NULL && (!has || memcmp(&first, object->bytes, sizeof first) == 0));
    object->size = size;
    note(object);
}

static void object_copy(struct object *to, const struct object *from, uint64_t *state) {
    size_t offset = random_below(state, 2) ? 0 : random_below(state, from->size) & ~(size_t)15;
    size_t left = from->size - offset, length = left < to->size ? left : to->size;
    memmove(to->bytes, from->bytes + offset, random_below(state, 2) && length > 16 ? 16 : length);
    note(to);
}

static void object_exchange(struct object *object, struct mailbox *mailbox) {
    if (atomic_flag_test_and_set_explicit(&mailbox->busy, memory_order_acquire)) return;
    struct object other = mailbox->object;
    mailbox->object = *object;
    *object = other;
    atomic_flag_clear_explicit(&mailbox->busy, memory_order_release);
}

/* A run of objects of one size comes or goes at a time, so that whole slabs do. */
static void run_of_objects(struct worker *worker, size_t from, uint64_t *state) {
    size_t count = random_below(state, LONGEST_RUN), size = random_size(state);
    bool new = random_below(state, 2);
    if (size > WINDOW) count %= 8;
    for (size_t i = from; i < from + count && i < HELD; i++) {
        struct object *object = &worker->held[i];
        if (object->bytes != NULL) object_free(worker, object, state);
        if (new) object_new(worker, object, size, state);
    }
}

static void *work(void *argument) {
    struct worker *worker = argument;
    uint64_t state = worker->seed;
    CHECK(pipe(worker->pipe) == 0);
    for (size_t i = 0; i < operations; i++) {
        size_t at = random_below(&state, HELD);
        struct object *object = &worker->held[at], *other = &worker->held[random_below(&state, HELD)];
        uint64_t kind = random_below(&state, 100);
        if (kind < 10) object_exchange(object, &mailboxes[random_below(&state, MAILBOXES)]);
        else if (kind < 20) run_of_objects(worker, at, &state);
        else if (object->bytes == NULL) object_new(worker, object, random_size(&state), &state);
        else if (kind < 35) object_resize(object, &state);
        else if (kind < 55 && other->bytes != NULL) object_copy(object, other, &state);
        else if (kind < 60) put_seen(worker, object, &state);
        else object_free(worker, object, &state);
    }
    close(worker->pipe[0]);
    close(worker->pipe[1]);
    if (worker->seed % 2 == 0)
        for (size_t i = 0; i < HELD; i++) object_free(NULL, &worker->held[i], &state);
    return NULL;
}

static void start(struct worker *worker, uint64_t seed) {
    worker->seed = seed;
    CHECK(pthread_create(&worker->thread, NULL, work, worker) == 0);
}

int main(int count, char **arguments) {
    size_t threads = count > 1 ? (size_t)atol(arguments[1]) : 4;
    if (count > 2) operations = (size_t)atol(arguments[2]);
    size_t generations = count > 3 ? (size_t)atol(arguments[3]) : 4;
    uint64_t seed = count > 4 ? strtoull(arguments[4], NULL, 0) : 1, state = seed;
    CHECK(threads >= 1 && threads <= MAX_THREADS);
    printf("contents %zu %zu %zu %llu\n", threads, operations, generations, (unsigned long long)seed);

    /* One worker is replaced at a time; the new one inherits what the old one held. */
    for (size_t i = 0; i < threads; i++) start(&workers[i], seed++);
    for (size_t i = 0; i < threads * generations; i++) {
        struct worker *worker = &workers[i % threads];
        CHECK(pthread_join(worker->thread, NULL) == 0);
        if (i < threads * (generations - 1)) start(worker, seed++);
    }
    for (size_t i = 0; i < threads; i++)
        for (size_t j = 0; j < HELD; j++) object_free(NULL, &workers[i].held[j], &state);
    for (size_t i = 0; i < MAILBOXES; i++) object_free(NULL, &mailboxes[i].object, &state);
    malloc_trim(0);
    return 0;
}
