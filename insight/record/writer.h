/* writer.h - a thread's side of recording: its ring, and one function to write an event. */
#ifndef JW_RECORD_WRITER_H
#define JW_RECORD_WRITER_H

#include "protocol.h"
#include "stacks.h"
#include <stdbool.h>
#include <time.h>

/* A thread's, in its thread-local storage. */
struct writer {
    uint32_t process; /* whose ring it is; differs from *current_process after a fork */
    uint32_t head, tail, capacity;
    struct event *events; /* NULL: not recording */
    struct slot *slot;
    uint32_t ring;
    bool busy;  /* inside the recorder: what it allocates is not the program's */
    bool ended; /* the thread's last destructor has run */
};

extern _Thread_local struct writer writer;

/* In a page that the kernel clears in a child: 0 there, and before the first event. */
extern _Atomic(_Atomic uint32_t *) current_process;

/* Gets a ring, and room in it. False: do not record. */
bool writer_prepare(void);
bool writer_make_room(void);
void writer_inside(void);
void writer_ended_event(void);

static inline uint64_t time_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline bool writer_put(const struct event *event) {
    if (writer.head - writer.tail >= writer.capacity && !writer_make_room()) return false;
    writer.events[writer.head & (writer.capacity - 1)] = *event;
    writer.head++;
    atomic_store_explicit(&writer.slot->head, writer.head, memory_order_release); /* [RG1] */
    return true;
}

static inline void record(enum kind kind, uint64_t time, const void *address, uint64_t size, uint8_t alignment) {
    _Atomic uint32_t *current = atomic_load_explicit(&current_process, memory_order_relaxed);
    uint32_t process = atomic_load_explicit(current, memory_order_relaxed);
    if (process == 0 || writer.process != process || writer.events == NULL) {
        if (!writer_prepare()) return;
    }
    uint32_t stack = 0;
    if (__builtin_expect(stacks_wanted, 0)) {
        if (writer.busy) {
            writer_inside();
            return;
        }
        if (kind != EVENT_FREE && kind != EVENT_REALLOC_BEGIN) stack = stack_now();
        if (writer.events == NULL) return; /* the recording has ended meanwhile */
    }
    writer_put(&(struct event){time, (uintptr_t)address, size, stack, (uint8_t)kind, alignment, 0});
    if (writer.ended) writer_ended_event();
}

#endif
