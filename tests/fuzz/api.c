/* api.c - bytes as calls of the whole interface, by two threads, with the oracle of objects.h.
 *
 *   input   options, flags (1: refusals during the start), then six bytes for each step
 *   step    operation (bit 7: the second thread does it), slot, count, kind of size, size, extra
 *
 * A step works on `count` slots, `stride` apart. The second thread does its steps while the first waits, so that an
 * input always does the same. The thread that does a step uses the objects of both: that makes frees across threads. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "config/geometry.h"
#include "contents.h"
#include "fuzz.h"
#include "kernel.h"
#include "objects.h"
#include "steps.h"

#include <jwmalloc.h>

enum { STEP_BYTES = 6, MANY = 160 };

/* --- bytes to steps */

/* Where the allocator changes its mind: at the ends of classes and tiers. */
static size_t decode_size(uint8_t kind, uint8_t value) {
    size_t fine = (size_t)(kind >> 3 & 3) - 1, v = value;
    switch (kind & 7) {
    case 0:
    case 1: return v * 8 + fine;
    case 2: return jw_malloc_good_size(v * 8 + 1) + fine;
    case 3: return jw_malloc_good_size(v * (BACKEND_MIN / 128) + 1) + fine;
    case 4: return jw_malloc_good_size(ROOT_SIZE / 256 * v + 1) + fine;
    case 5: return ROOT_SIZE + (v & 3) * (ROOT_SIZE / 2) + ((v >> 2) - 31) * 8 + fine;
    case 6: return ((size_t)1 << v % (8 * sizeof(size_t))) + fine;
    default: return (v & 128 ? (size_t)PTRDIFF_MAX : SIZE_MAX) - 64 + (v & 127) + fine;
    }
}

static size_t decode_alignment(uint8_t extra) {
    static const size_t bad[] = {0, 3, 24, SIZE_MAX, SIZE_MAX / 2 + 2, 4095, 12, 6};
    if (extra >= 248) return bad[extra - 248];
    if (extra >= 192) return (size_t)1 << (extra - 192) % (8 * sizeof(size_t));
    return (size_t)1 << extra % 16;
}

/* An emulator takes seconds to map what is far too large; there it becomes what nobody can have. */
static size_t mappable(size_t number) {
#ifdef JW_EMULATED
    if (number > (size_t)1 << 30 && number < SIZE_MAX / 2) return SIZE_MAX / 2 + 1;
#endif
    return number;
}

static struct step decode(const uint8_t *bytes) {
    static const unsigned strides[] = {1, 0, 2, 3, 5, 1, 1, 7};
    struct step step = {
        .operation = operation_of(bytes[0] & 127),
        .second = bytes[0] >= 128,
        .slot = bytes[1] * 4u,
        .count = bytes[2] < MANY ? 1 : (bytes[2] - MANY + 1u) * 2,
        .stride = strides[bytes[2] % 8],
        .size = mappable(decode_size(bytes[3], bytes[4])),
        .alignment = mappable(decode_alignment(bytes[5])),
        .extra = bytes[5],
    };
    return step;
}

/* --- threads */

static struct second {
    pthread_t thread;
    sem_t go, done;
    bool runs;
    const struct step *step; /* NULL: end */
} second;

static void *be_second(void *nothing) {
    for (;;) {
        while (sem_wait(&second.go) != 0) continue;
        if (second.step == NULL) break;
        step_perform(second.step);
        sem_post(&second.done);
    }
    kernel_thread_ends();
    return nothing;
}

static void end_second(void) {
    if (!second.runs) return;
    second.step = NULL;
    sem_post(&second.go);
    EXPECT(pthread_join(second.thread, NULL) == 0);
    second.runs = false;
}

static void let_second(const struct step *step) {
    if (!second.runs) {
        EXPECT(sem_init(&second.go, 0, 0) == 0 && sem_init(&second.done, 0, 0) == 0);
        EXPECT(pthread_create(&second.thread, NULL, be_second, NULL) == 0);
        second.runs = true;
    }
    second.step = step;
    sem_post(&second.go);
    while (sem_wait(&second.done) != 0) continue;
}

struct input {
    const uint8_t *bytes;
    size_t size;
};

static void *run(void *argument) {
    const struct input *input = argument;
    kernel_begin(input->bytes[0], input->bytes[1] & 1);
    for (size_t at = 2; at + STEP_BYTES <= input->size; at += STEP_BYTES) {
        struct step step = decode(input->bytes + at);
        if (fuzz_shows()) step_show(&step);
        if (step.operation == END_THREAD) end_second();
        else if (step.second) let_second(&step);
        else step_perform(&step);
    }
    kernel_ends_refusals();
    objects_check();
    struct step rest = {.operation = FREE, .count = SLOTS, .stride = 1};
    step_perform(&rest);
    end_second();
    EXPECT(nothing_is_lost());
    kernel_thread_ends();
    return NULL;
}

/* A thread of its own each time: what a thread keeps does not outlive the input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    pthread_t first;
    if (size < 2) return 0;
    objects_forget();
    contents_forget();
    EXPECT(pthread_create(&first, NULL, run, &input) == 0 && pthread_join(first, NULL) == 0);
    return 0;
}
