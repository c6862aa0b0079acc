/* frames.c - reads stacks by the sizes of frames that the unwinder has found. */
#include "frames.h"
#include "file.h"
#include "shared/unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static int unwind_alone(void **frames, uintptr_t *places, int most) {
    bool alone = unwinder_locks();
    if (alone && !unwind_enter_alone()) return -1;
    int count = unwind_now(frames, places, most);
    if (alone) unwind_leave();
    file_count_unwound();
    while (count > 0 && frames[count - 1] == NULL) count--; /* where libgcc's unwinder ends */
    return count;
}

#ifdef __x86_64__

enum {
    MOST_SIZES = 1 << 13,
    CODE_BITS = 16,
    LAST = 0,               /* the outermost address */
    VARIES = UINT16_MAX,    /* differs, or is too large */
    MOST_UNWOUND = 128 + 8, /* with the frames in here */
};

/* address << CODE_BITS | size of the frame / 8, or one of the codes above. One word, so that it is consistent; a stale
 * or a lost one costs time only. */
static _Atomic uint64_t sizes[MOST_SIZES];

/* The part of the thread's stack that the unwinder has gone through: all of it can be read. */
static _Thread_local struct {
    uintptr_t low, end;
} seen;

static _Atomic uint64_t *size_of_frame(uint64_t address) {
    return &sizes[address * UINT64_C(0x9e3779b97f4a7c15) >> 51];
}

/* Zero: some address is not known. */
static int read_frames(void **frames, int most, uint64_t address, uintptr_t place) {
    if (place < seen.low || place > seen.end) return 0;
    for (int count = 0; count < most;) {
        uint64_t word = atomic_load_explicit(size_of_frame(address), memory_order_relaxed);
        uint64_t code = word & UINT16_MAX;
        if (word >> CODE_BITS != address || code == VARIES) return 0;
        frames[count++] = (void *)address;
        if (code == LAST) return place == seen.end ? count : 0;
        place += code * sizeof(uint64_t);
        if (place > seen.end) return 0;
        memcpy(&address, (const char *)place - sizeof address, sizeof address);
    }
    return most;
}

static void learn(uint64_t address, uint64_t code) {
    _Atomic uint64_t *word = size_of_frame(address);
    uint64_t before = atomic_load_explicit(word, memory_order_relaxed);
    if (before >> CODE_BITS == address && (before & UINT16_MAX) != code) code = VARIES;
    atomic_store_explicit(word, address << CODE_BITS | code, memory_order_relaxed);
}

static uint64_t code_of(uintptr_t place, uintptr_t next, const void *address) {
    uint64_t size = next - place;
    const void *found;
    if (next <= place || size % sizeof(uint64_t) != 0 || size / sizeof(uint64_t) >= VARIES) return VARIES;
    memcpy(&found, (const char *)next - sizeof found, sizeof found);
    return found == address ? size / sizeof(uint64_t) : VARIES; /* not so behind a signal's frame */
}

static void learn_all(void **frames, const uintptr_t *places, int count, bool whole) {
    bool good = whole;
    for (int i = 0; i + 1 < count; i++) {
        uint64_t code = code_of(places[i], places[i + 1], frames[i + 1]);
        good &= code != VARIES;
        learn((uintptr_t)frames[i], code);
    }
    if (whole) learn((uintptr_t)frames[count - 1], LAST);
    if (!good) return;
    if (seen.end != places[count - 1]) seen.low = UINTPTR_MAX;
    seen.end = places[count - 1];
    if (places[0] < seen.low) seen.low = places[0];
}

__attribute__((noinline)) int frames_now(void **frames, int most) {
    uintptr_t here = (uintptr_t)__builtin_dwarf_cfa(), places[MOST_UNWOUND];
    void *back = __builtin_return_address(0), *all[MOST_UNWOUND];
    int count = read_frames(frames, most, (uintptr_t)back, here), first = 0;
    if (count != 0) return count;
    count = unwind_alone(all, places, MOST_UNWOUND);
    if (count <= 0) return count;
    while (first < count && (all[first] != back || places[first] != here)) first++;
    if (first == count) first = 0; /* an unwinder that does not say the places */
    else learn_all(all + first, places + first, count - first, count < MOST_UNWOUND);
    count -= first;
    if (count > most) count = most;
    memcpy(frames, all + first, (size_t)count * sizeof *frames);
    return count;
}

void frames_forget(void) {
    for (int i = 0; i < MOST_SIZES; i++) atomic_store_explicit(&sizes[i], 0, memory_order_relaxed);
}

#else

int frames_now(void **frames, int most) {
    return unwind_alone(frames, NULL, most);
}

void frames_forget(void) {
}

#endif
