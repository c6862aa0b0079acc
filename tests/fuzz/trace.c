/* trace.c - any text as an allocation trace: bench/trace.c, which ./jw bench and tests/trace/replay.c read with.
 *
 * It must either refuse in one line that names file and line, or give a table that can be replayed: no slot is taken
 * twice or given back before it was taken. Its tables and its text are on the heap here, so that sanitizers see their
 * ends. */
#include "fuzz.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "trace.h"
#include "trace_target.h"

static jmp_buf refused;
static char message[512];
static void *tables[8];
static unsigned table_count;

static void *keep(void *table) {
    EXPECT(table != NULL && table_count < sizeof tables / sizeof *tables);
    return tables[table_count++] = table;
}

void *fuzz_map_table(size_t size) {
    return keep(calloc(1, size));
}

void *fuzz_map_file(int file, size_t size) {
    void *text = keep(malloc(size));
    EXPECT(pread(file, text, size, 0) == (ssize_t)size);
    return text;
}

void fuzz_tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
}

_Noreturn void fuzz_exit(int code) {
    EXPECT(code == 2);
    longjmp(refused, 1);
}

/* On a refusal the reader gives nothing back: it ends the program. */
static void forget_tables(void) {
    while (table_count > 0) free(tables[--table_count]);
}

enum { INPUT_MAX = 1 << 16 };

static uint64_t take(uint64_t *sizes, const struct trace *trace, const struct line *line) {
    EXPECT(line->slot < trace->slots && sizes[line->slot] == 0);
    EXPECT(line->size <= INT64_MAX && line->alignment != 0 && (line->alignment & (line->alignment - 1)) == 0);
    sizes[line->slot] = line->size + 1;
    return line->size;
}

static uint64_t give(uint64_t *sizes, const struct trace *trace, uint32_t slot) {
    EXPECT(slot < trace->slots && sizes[slot] != 0);
    uint64_t size = sizes[slot] - 1;
    sizes[slot] = 0;
    return size;
}

static void expect_replayable(const struct trace *trace) {
    uint64_t *sizes = calloc(trace->slots + 1u, sizeof *sizes), live = 0, peak = 0;
    EXPECT(trace->count > 0 && trace->threads > 0);
    for (uint64_t i = 0; i < trace->count; i++) {
        const struct line *line = &trace->lines[i];
        EXPECT(line->thread < trace->threads && line->operation < OPERATIONS);
        if (line->operation == FREE_LINE) live -= give(sizes, trace, line->slot);
        else EXPECT(line->operation == REALLOC_LINE || line->old == NO_SLOT);
        if (line->old != NO_SLOT) live -= give(sizes, trace, line->old);
        if (line->operation < FREE_LINE) live += take(sizes, trace, line);
        EXPECT(live <= INT64_MAX);
        peak = live > peak ? live : peak;
    }
    EXPECT(peak == trace->peak_live);
    free(sizes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int file;
    if (file == 0) file = memfd_create("trace", 0);
    if (size > INPUT_MAX) return 0;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    EXPECT(ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size);
    if (setjmp(refused) == 0) {
        struct trace trace = trace_read(path);
        if (fuzz_shows()) printf("%llu operations\n", (unsigned long long)trace.count);
        expect_replayable(&trace);
    } else {
        unsigned number = 0;
        size_t length = strlen(message);
        if (fuzz_shows()) printf("%s", message);
        EXPECT(strncmp(message, path, strlen(path)) == 0 && sscanf(message + strlen(path), ":%u: ", &number) == 1);
        EXPECT(length > 0 && strchr(message, '\n') == message + length - 1);
    }
    forget_tables();
    return 0;
}
