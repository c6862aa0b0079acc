/* drain.c - the recording process's side of a ring: copies events out. Loaded by tools/recorder.py. */
#include "protocol.h"

#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* Copies up to `most` events, and gives their room back to the thread. Returns how many. */
EXPORTED uint32_t jw_drain(struct slot *slot, const struct event *events, struct event *copies, uint32_t most) {
    uint32_t tail = atomic_load_explicit(&slot->tail, memory_order_relaxed), mask = slot->capacity - 1;
    uint32_t count = atomic_load_explicit(&slot->head, memory_order_acquire) - tail; /* pairs RG1 */
    if (count > most) count = most;
    uint32_t first = tail & mask, until_end = mask + 1 - first;
    uint32_t here = count < until_end ? count : until_end;
    memcpy(copies, events + first, here * sizeof *events);
    memcpy(copies + here, events, (count - here) * sizeof *events);
    atomic_store_explicit(&slot->tail, tail + count, memory_order_release); /* [RG2] */
    return count;
}

/* Rings are there for threads to take, up to `count`. */
EXPORTED void jw_offer(struct control *control, uint32_t count) {
    atomic_store_explicit(&control->rings_ready, count, memory_order_release); /* [RG3] */
}
