/* sampler.c - draws distances, and takes a sample where one ends. */
#include "sampler.h"
#include "file.h"
#include "frames.h"
#include "shared/unwind.h"
#include "table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { FRAMES = 128 };

_Thread_local struct sampler sampler = {.left = -1};
static bool active, off; /* off: no ./jw profile has started this program */
static _Atomic uint64_t threads;
__attribute__((visibility("hidden"))) extern const char __ehdr_start[], _end[]; /* of this library: the linker's */

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* splitmix64 */
static uint64_t next_random(void) {
    return mix(sampler.random += UINT64_C(0x9e3779b97f4a7c15));
}

/* -log(u) for u in (0, 1], within 1e-9: no library for one function. */
static double minus_log(double u) {
    int exponent = 0;
    while (u < 0.70710678118654752) u *= 2, exponent++;
    double z = (u - 1) / (u + 1), square = z * z, power = z, sum = 0;
    for (int i = 1; i < 14; i += 2, power *= square) sum += power / i;
    return exponent * 0.69314718055994531 - 2 * sum;
}

/* How many bytes come before the next chosen one. */
static int64_t distance(void) {
    double u = (double)((next_random() >> 11) + 1) * 0x1p-53;
    return (int64_t)(minus_log(u) * (double)control->rate);
}

static void start(void) {
    uint64_t seed = control->seed, own[2];
    if (seed == 0) {
        memcpy(own, (const void *)getauxval(AT_RANDOM), sizeof own);
        seed = own[0] ^ mix(own[1] + (uint64_t)(uintptr_t)&sampler);
    }
    sampler.random = mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (atomic_fetch_add(&threads, 1) + 1));
    sampler.started = true;
    sampler.left = distance();
}

static bool is_own_code(const void *address) {
    return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

static void take(const void *object, size_t size) {
    void *all[FRAMES], **frames = all;
    int count = frames_now(all, FRAMES);
    if (count < 0) {
        file_drop_busy();
        return;
    }
    while (count > 0 && is_own_code(*frames)) frames++, count--;
    if (count == 0) {
        file_drop_unknown();
        return;
    }
    uint32_t row = file_row(frames, count, size);
    if (row == 0) return;
    if (table_insert(object, row)) file_allocated(row);
    else file_drop_full();
}

void sampler_reached(const void *object, size_t size) {
    if (sampler.busy) return;
    if (!active) {
        if (off) sampler.left = INT64_MAX;
        return;
    }
    if (!sampler.started) {
        start();
        if (sampler_passes(size)) return;
    }
    int error = errno;
    sampler.busy = true;
    sampler.left = INT64_MIN / 2; /* what an unwinder allocates goes the slow way, and is not the program's */
    if (object != NULL && atomic_load_explicit(&control->on, memory_order_relaxed) != 0) {
        if (file_ready()) take(object, size);
        else atomic_fetch_add(&control->lost, 1);
        if (sampler.process != file_process()) { /* a child of fork does not draw what its parent draws */
            sampler.process = file_process();
            sampler.random = mix(sampler.random ^ sampler.process);
        }
    }
    sampler.left = distance();
    sampler.busy = false;
    errno = error;
}

uint32_t sampler_forget(const void *object) {
    int error = errno;
    if (active && object != NULL) file_ready(); /* a child first counts what it has from its parent */
    errno = error;
    return table_remove(object);
}

void sampler_freed(uint32_t row) {
    if (row != 0 && file_ready()) file_freed(row);
}

void sampler_keep(const void *object, uint32_t row) {
    if (row != 0 && !table_insert(object, row)) sampler_freed(row);
}

static void before_fork(void) {
    if (unwinder_locks()) unwind_before_fork();
}
static void after_fork(void) {
    if (unwinder_locks()) unwind_after_fork();
}

/* Runs before main. What the program's libraries have allocated by then is no sample. */
__attribute__((constructor)) static void sampler_begin(void) {
    const char *folder = getenv("JW_PROFILE_FOLDER");
    sampler.busy = true;
    sampler.left = INT64_MIN / 2;
    if (folder != NULL && file_begin(folder) && unwind_begin(true)) {
        pthread_atfork(before_fork, after_fork, unwind_in_child);
        active = true;
    } else {
        off = true;
    }
    sampler.busy = false;
    sampler.left = -1;
}
