/* trace.c - reads a trace, line by line, and gives pointers their slots by a hash table. */
#include "trace.h"
#include "bench.h"

#include <sys/stat.h>

enum { MOST_TRACED_THREADS = 4096 };

/* A traced pointer: open addressing, entries stay. */
struct known {
    uint64_t pointer, size;
    uint32_t slot; /* NO_SLOT while it is not allocated */
};

struct reader {
    const char *path, *at, *end;
    uint64_t number; /* of the line */
    struct trace trace;
    struct known *table;
    uint64_t mask;
    uint32_t *free_slots, free_count;
    uint32_t thread_ids[MOST_TRACED_THREADS];
    uint64_t live;
};

_Noreturn static void refuse(const struct reader *reader, const char *why) {
    dprintf(STDERR_FILENO, "%s:%llu: %s\n", reader->path, (unsigned long long)reader->number, why);
    exit(2);
}

static void skip_spaces(struct reader *reader) {
    while (reader->at < reader->end && *reader->at == ' ') reader->at++;
}

static uint64_t read_number(struct reader *reader) {
    skip_spaces(reader);
    const char *at = reader->at;
    uint32_t base = 10;
    if (reader->end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x') {
        base = 16;
        at += 2;
    }
    uint64_t value = 0;
    const char *first = at;
    for (; at < reader->end; at++) {
        uint32_t decimal = (uint32_t)(*at - '0'), letter = (uint32_t)((*at | 0x20) - 'a');
        uint32_t digit = decimal < 10 ? decimal : letter < 6 ? letter + 10 : 16;
        if (digit >= base) break;
        if (value > (UINT64_MAX - digit) / base) refuse(reader, "a number is too large");
        value = value * base + digit;
    }
    if (at == first) refuse(reader, "a number is missing");
    if (at < reader->end && *at != ' ' && *at != ':' && *at != '\n' && *at != '\r') refuse(reader, "not a number");
    reader->at = at;
    return value;
}

static enum operation read_operation(struct reader *reader) {
    static const char *const names[OPERATIONS] = {"malloc", "calloc", "realloc", "memalign", "free", "thread_done"};
    skip_spaces(reader);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        size_t length = strlen(names[i]);
        if ((size_t)(reader->end - reader->at) <= length || memcmp(reader->at, names[i], length) != 0) continue;
        if (reader->at[length] != ' ') continue;
        reader->at += length;
        return (enum operation)i;
    }
    refuse(reader, "not an operation of a trace");
}

static uint32_t read_thread(struct reader *reader) {
    uint64_t id = read_number(reader);
    if (id > UINT32_MAX) refuse(reader, "a number is too large");
    if (reader->at == reader->end || *reader->at++ != ':') refuse(reader, "no colon after the thread");
    for (uint32_t i = 0; i < reader->trace.threads; i++)
        if (reader->thread_ids[i] == id) return i;
    if (reader->trace.threads == MOST_TRACED_THREADS) refuse(reader, "too many threads");
    reader->thread_ids[reader->trace.threads] = (uint32_t)id;
    return reader->trace.threads++;
}

static struct known *find(struct reader *reader, uint64_t pointer) {
    uint64_t place = (pointer * 0x9e3779b97f4a7c15u) >> 20 & reader->mask;
    while (reader->table[place].pointer != 0 && reader->table[place].pointer != pointer)
        place = (place + 1) & reader->mask;
    struct known *known = &reader->table[place];
    if (known->pointer == 0) *known = (struct known){pointer, 0, NO_SLOT};
    return known;
}

static uint32_t take_slot(struct reader *reader, uint64_t pointer, uint64_t size) {
    struct known *known = find(reader, pointer);
    if (known->slot != NO_SLOT) refuse(reader, "allocates a pointer that is not free");
    if (size > INT64_MAX - reader->live) refuse(reader, "a size is too large");
    known->slot = reader->free_count > 0 ? reader->free_slots[--reader->free_count] : reader->trace.slots++;
    known->size = size;
    reader->live += size;
    if (reader->live > reader->trace.peak_live) reader->trace.peak_live = reader->live;
    return known->slot;
}

static uint32_t give_slot(struct reader *reader, uint64_t pointer) {
    struct known *known = find(reader, pointer);
    uint32_t slot = known->slot;
    if (slot == NO_SLOT) return NO_SLOT;
    reader->live -= known->size;
    reader->free_slots[reader->free_count++] = slot;
    known->slot = NO_SLOT;
    return slot;
}

/* False for a line that is left out. */
static bool read_line(struct reader *reader, struct line *line) {
    *line = (struct line){.thread = read_thread(reader), .slot = NO_SLOT, .old = NO_SLOT, .alignment = 1};
    line->operation = read_operation(reader);
    if (line->operation == THREAD_DONE_LINE) return true;
    uint64_t pointer = read_number(reader);
    if (line->operation == FREE_LINE) {
        line->slot = pointer != 0 ? give_slot(reader, pointer) : NO_SLOT;
        reader->trace.ignored += line->slot == NO_SLOT;
        return line->slot != NO_SLOT;
    }
    uint64_t first = read_number(reader), second = line->operation == MALLOC_LINE ? 1 : read_number(reader);
    if (line->operation == REALLOC_LINE && first != 0) line->old = give_slot(reader, first);
    if (line->operation == MEMALIGN_LINE && first != 0) line->alignment = first;
    bool product = line->operation == MALLOC_LINE || line->operation == CALLOC_LINE;
    if (product && first != 0 && second > INT64_MAX / first) refuse(reader, "a size is too large");
    line->size = product ? first * second : second;
    if (line->size > INT64_MAX) refuse(reader, "a size is too large");
    if ((line->alignment & (line->alignment - 1)) != 0) refuse(reader, "an alignment is not a power of two");
    /* A call that failed in the traced program; or, for realloc to size 0, a free. */
    if (pointer == 0) {
        bool freed = line->operation == REALLOC_LINE && line->old != NO_SLOT;
        *line = (struct line){FREE_LINE, line->thread, line->old, NO_SLOT, 0, 1};
        return freed;
    }
    line->slot = take_slot(reader, pointer, line->size);
    return true;
}

struct trace trace_read(const char *path) {
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        dprintf(STDERR_FILENO, "%s: cannot be read\n", path);
        exit(2);
    }
    uint64_t size = (uint64_t)status.st_size, lines = 1;
    const char *text = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : "";
    CHECK(text != MAP_FAILED);
    close(file);
    for (uint64_t i = 0; i < size; i++) lines += text[i] == '\n';
    static struct reader reader;
    reader = (struct reader){.path = path, .at = text, .end = text + size};
    for (reader.mask = 1023; reader.mask < 2 * lines; reader.mask = 2 * reader.mask + 1) continue;
    size_t table_size = sizeof *reader.table * (reader.mask + 1), slots_size = sizeof *reader.free_slots * lines;
    reader.table = map_table(table_size);
    reader.free_slots = map_table(slots_size);
    reader.trace.lines = map_table(sizeof *reader.trace.lines * lines);
    while (reader.at < reader.end) {
        reader.number++;
        reader.trace.count += read_line(&reader, &reader.trace.lines[reader.trace.count]);
        while (reader.at < reader.end && *reader.at != '\n') reader.at++;
        reader.at += reader.at < reader.end;
    }
    if (reader.trace.count == 0) refuse(&reader, "the trace has no operation");
    munmap(reader.table, table_size);
    munmap(reader.free_slots, slots_size);
    if (size > 0) munmap((void *)(uintptr_t)text, size);
    return reader.trace;
}
