/* trace.h - reads an allocation trace of Android's memory_replay into a table that can be replayed without look-ups.
 *
 *   <tid>: malloc <pointer> <size>                   <tid>: calloc <pointer> <count> <size>
 *   <tid>: realloc <new> <old> <size>                <tid>: memalign <pointer> <alignment> <size>
 *   <tid>: free <pointer>                            <tid>: thread_done <anything>
 *
 * Later fields, such as times, are passed over. Pointers become slots: the number of a pointer, given out anew once it
 * is free. A free of a pointer that no line allocated is of an object older than the trace, and is left out.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

enum operation { MALLOC_LINE, CALLOC_LINE, REALLOC_LINE, MEMALIGN_LINE, FREE_LINE, THREAD_DONE_LINE, OPERATIONS };

enum { NO_SLOT = UINT32_MAX };

struct line {
    uint32_t operation, thread; /* thread: 0, 1, ... in order of appearance */
    uint32_t slot, old;         /* old: what realloc takes, NO_SLOT for NULL */
    uint64_t size;              /* of calloc: count * size */
    uint64_t alignment;
};

struct trace {
    struct line *lines;
    uint64_t count;
    uint32_t slots, threads;
    uint64_t peak_live; /* bytes asked for and not freed, at most */
    uint64_t ignored;   /* frees of older objects */
};

/* Ends the program with the file's name and a line number where the text is not a trace. */
struct trace trace_read(const char *path);

#endif
