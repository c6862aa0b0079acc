/* profile.h - the files that a profiled program shares with ./jw profile (tools/profiler.py).
 *
 * The profiling process makes a folder with the file `control` before the program starts. Each process of the program
 * makes a file of its own there, P<pid>-<n>, at its first sample or at the first free that may be of one: a head and
 * then records. Counters of the records grow there at once, so that a process that is killed loses nothing, and the
 * profiling process can read at any time.
 *
 *   head.used     end of the reserved records   any thread            only grows
 *   head.backed   end of the file's memory      the thread that has   only grows: a write below it cannot fail
 *                                               file.c's `extending`
 *   record.tag    0 -> its kind and length      the record's thread   [PR1] release: the record is complete
 *
 * A record begins at a multiple of 64 bytes. One whose thread was killed has no tag, and a reader looks for the next
 * tag. */
#ifndef JW_PROFILE_PROFILE_H
#define JW_PROFILE_PROFILE_H

#include <stdatomic.h>
#include <stdint.h>

#define CONTROL_MAGIC UINT64_C(0x31304c545243574a) /* "JWCRTL01" */
#define PROFILE_MAGIC UINT64_C(0x3130464f5250574a) /* "JWPROF01" */
#define TAG UINT64_C(0x4a57b5a100000000)           /* | kind << 24 | length / RECORD_UNIT */

enum {
    RECORD_UNIT = 64,
    RECORD_ROW = 1,
    RECORD_MODULE = 2,
    PATH_SIZE = 256,
    BUILD_ID_SIZE = 32,
};

struct control {
    uint64_t magic;
    uint64_t rate;         /* mean distance of samples, bytes */
    uint64_t seed;         /* 0: a random one */
    _Atomic uint32_t on;   /* each thread looks at its next sample */
    _Atomic uint32_t lost; /* samples that had no file: it could not be made, or was being made */
};

struct head {
    _Atomic uint64_t magic; /* set last */
    uint32_t pid, parent_pid;
    uint64_t began; /* CLOCK_REALTIME, ns */
    _Atomic uint64_t used, backed;
    _Atomic uint64_t busy, full, unknown; /* samples dropped: another thread was there; no room; no stack */
    _Atomic uint64_t unwound;             /* stacks that the unwinder has found (frames.h) */
    uint64_t spare[7];
    char program[PATH_SIZE]; /* path; "" if it is longer */
};
_Static_assert(sizeof(struct head) % RECORD_UNIT == 0, "records follow");

/* Samples of one stack and size. What is in use: inherited + allocated - freed. */
struct row {
    _Atomic uint64_t tag;
    uint64_t size;
    _Atomic uint64_t allocated, freed;
    _Atomic uint64_t inherited; /* in use in the parent at the fork */
    uint64_t count;
    uint64_t frames[]; /* return addresses, the innermost first */
};

/* What was loaded at some addresses when the next records were written. */
struct module {
    _Atomic uint64_t tag;
    uint64_t start, end, offset; /* of the segment with instructions; offset in its file */
    uint64_t bias;               /* what the loader added to the file's own addresses */
    uint64_t build_id_size;
    uint8_t build_id[BUILD_ID_SIZE];
    char path[]; /* "": the program's */
};

#endif
