/* lines.c - reads the text of Android's memory_replay, fast: ten million lines are usual. Loaded by tools/android.py.
 *
 * It knows the lines that memory_replay writes, and stops before another one: tools/android.py then says what is wrong
 * with it, or reads it. */
#include "record/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { MOST_VALUES = 5, MICROSECOND = 1000, NOTHING = 0 };
#define MOST (UINT64_C(1) << 62) /* as traceio.py's */

struct reading {
    struct event *events; /* `stack` is the line's thread */
    uint64_t line;        /* so many lines were read */
    uint32_t room, count; /* of events */
    uint32_t timed;       /* some line had a time */
};

static const struct {
    char name[12];
    uint8_t kind, fields; /* numbers before the times */
} operations[] = {
    {"malloc", EVENT_MALLOC, 2},         {"free", EVENT_FREE, 1},        {"calloc", EVENT_CALLOC, 3},
    {"realloc", EVENT_REALLOC_BEGIN, 3}, {"memalign", EVENT_ALIGNED, 3}, {"thread_done", EVENT_THREAD_END, 1},
};

/* Digits of one number, at least one. A number above MOST, or another text, ends the line: false. */
static bool read_number(const char **at, uint64_t *value) {
    const char *text = *at;
    uint64_t base = 10, number = 0;
    if (text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
    }
    const char *first = text;
    for (;; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9) {
            digit = ((unsigned)(unsigned char)*text | 32) - 'a' + 10;
            if (base != 16 || digit < 10 || digit > 15) break;
        }
        if (number > MOST / base) return false;
        number = number * base + digit;
    }
    bool octal = base == 10 && *first == '0' && text - first > 1;
    *at = text;
    *value = number;
    return text != first && !octal && number <= MOST;
}

static int find_operation(const char **at) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        size_t length = strlen(operations[i].name);
        if (strncmp(*at, operations[i].name, length) != 0 || (*at)[length] != ' ') continue;
        *at += length;
        return (int)i;
    }
    return -1;
}

static void put(struct reading *reading, struct event event) {
    reading->events[reading->count++] = event;
}

static uint8_t log2_of(uint64_t alignment) {
    return alignment > 1 ? (uint8_t)(63 - __builtin_clzll(alignment)) : 0;
}

static bool put_call(struct reading *reading, int operation, const uint64_t *values, unsigned count, uint32_t thread) {
    uint8_t kind = operations[operation].kind;
    unsigned fields = operations[operation].fields;
    uint64_t start = count > fields ? values[fields] : (reading->line + 1) * MICROSECOND;
    uint64_t end = count > fields + 1 ? values[fields + 1] : start, size = values[fields - 1];
    struct event event = {end, values[0], size, thread, kind, 0, 0};
    if (kind == EVENT_REALLOC_BEGIN && values[1] != 0) {
        bool timed = reading->timed || count > fields; /* without times, one call still begins before it ends */
        put(reading, (struct event){start, values[1], size, thread, EVENT_REALLOC_BEGIN, 0, 0});
        event.time = end < start + !timed ? start + !timed : end;
        event.kind = EVENT_REALLOC_END;
    } else if (kind == EVENT_THREAD_END) {
        event.address = event.size = 0;
    } else if (values[0] == 0) {
        event.kind = NOTHING; /* a call that failed; its thread is known now */
    } else if (kind == EVENT_FREE) {
        event.time = start;
        event.size = 0;
    } else if (kind == EVENT_CALLOC) {
        if (__builtin_mul_overflow(values[1], values[2], &event.size) || event.size > MOST) return false;
    } else if (kind == EVENT_ALIGNED) {
        event.alignment = log2_of(values[1]);
    } else if (kind == EVENT_REALLOC_BEGIN) {
        event.kind = EVENT_MALLOC;
    }
    put(reading, event);
    reading->timed |= count > fields;
    return true;
}

/* The byte behind the line, a newline, ends each number. */
static bool read_line(const char *at, const char *end, struct reading *reading) {
    uint64_t thread, values[MOST_VALUES];
    unsigned count = 0;
    if (!read_number(&at, &thread) || thread >= UINT64_C(1) << 31 || at[0] != ':' || at[1] != ' ') return false;
    at += 2;
    int operation = find_operation(&at);
    if (operation < 0) return false;
    while (at < end && *at == ' ') {
        at++;
        if (count == MOST_VALUES || !read_number(&at, &values[count++])) return false;
    }
    unsigned fields = operations[operation].fields;
    if (at != end || count < fields || count > fields + 2) return false;
    return put_call(reading, operation, values, count, (uint32_t)thread);
}

/* Reads whole lines, until one is not known or the events have no more room. Returns the bytes that were read. */
EXPORTED size_t jw_read_lines(const char *text, size_t size, struct reading *reading) {
    const char *at = text, *end;
    while (reading->count + 2 <= reading->room && (end = memchr(at, '\n', size - (size_t)(at - text))) != NULL) {
        if (!read_line(at, end, reading)) break;
        reading->line++;
        at = end + 1;
    }
    return (size_t)(at - text);
}
