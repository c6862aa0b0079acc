/* protocol.h - the memory that a recorded program shares with the process that records it (tools/record.py).
 *
 * The recording process makes a folder of files before the program starts: `control`, and rings R0, R1, ... A thread
 * of the program takes a ring, maps it, and writes its events there. The recording process reads them and writes the
 * trace.
 *
 *   slot.head   events ever written, modulo 2^32   the thread that has the ring   [RG1] release: publishes the events
 *   slot.tail   events ever read, modulo 2^32      the recording process          [RG2] release: the events are copied
 *
 * Invariant: 0 <= head - tail <= capacity, and the events from tail up to head are complete. Each side reads the
 * other's word with acquire. All files are full size and backed by memory before a thread can see them, so that a write
 * into a ring cannot fail. The layout is the same in 32-bit and 64-bit programs. */
#ifndef JW_RECORD_PROTOCOL_H
#define JW_RECORD_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#define RECORD_MAGIC UINT64_C(0x314452434552574a) /* "JWRECRD1" */

enum {
    MOST_RINGS = 1 << 16,
    SLOTS_OFFSET = 4096, /* of the control file */
    LATE_SECONDS = 10,   /* without a heartbeat: the recording process is gone */
};

/* What an event says. Kinds from PROCESS on are not about memory. */
enum kind {
    EVENT_MALLOC = 1,
    EVENT_CALLOC = 2,
    EVENT_ALIGNED = 3,
    EVENT_REALLOC_BEGIN = 4, /* address: the old object's */
    EVENT_REALLOC_END = 5,   /* address: the new object's, 0 if the call failed or was a free */
    EVENT_FREE = 6,
    EVENT_PROCESS = 16,      /* address: pid, size: parent's pid, stack: parent's number, alignment: log2 of a word */
    EVENT_THREAD_BEGIN = 17, /* stack: tid, address and size: 16 bytes of the thread's name */
    EVENT_THREAD_AGAIN = 18, /* the same for a thread that has ended for the recorder, and still frees */
    EVENT_THREAD_END = 19,
    EVENT_PROGRAM = 20, /* address and size: the next 16 bytes of the program's path */
    EVENT_MODULE = 21,  /* a loaded file is at address up to size; then one BIAS, and PATHs */
    EVENT_BIAS = 22,    /* address: what the loader added to the file's addresses */
    EVENT_PATH = 23,    /* address and size: the next 16 bytes of the file's path; the last one has a 0 */
    EVENT_STACK = 24,   /* stack: a number, address: count of its return addresses; then FRAMES */
    EVENT_FRAMES = 25,  /* address and size: the next two return addresses, the innermost first */
};

struct event {
    uint64_t time; /* CLOCK_MONOTONIC, ns: a free's before the call, an allocation's after it */
    uint64_t address, size;
    uint32_t stack;
    uint8_t kind, alignment; /* log2, 0: none asked for */
    uint16_t spare;
};
_Static_assert(sizeof(struct event) == 32, "the same in every program");

struct slot {
    _Atomic uint32_t head;
    uint32_t capacity; /* events, a power of two; set before rings_ready counts the ring */
    _Atomic uint32_t process;
    uint32_t unused[13];
    _Atomic uint32_t tail; /* in a cache line of its own */
    uint32_t more[15];
};
_Static_assert(sizeof(struct slot) == 128, "two cache lines");

struct control {
    uint64_t magic;
    _Atomic uint32_t rings_ready; /* [RG3] release by the recording process: the files are there */
    _Atomic uint32_t rings_taken; /* may be above rings_ready: the thread then waits */
    _Atomic uint32_t processes;   /* numbers given out; the first is 1 */
    _Atomic uint32_t stop;        /* nothing more is recorded */
    _Atomic uint32_t heartbeat;   /* changes while the recording process lives */
    _Atomic uint32_t lost;        /* events that had no ring: no folder, no memory, too many threads */
    _Atomic uint32_t inside;      /* allocations that the recorder itself made while it recorded one: always 0 */
};

#endif
