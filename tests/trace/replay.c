/* replay.c - replays an allocation trace of Android's memory_replay with every byte of every object checked.
 *
 *   replay [-threads] FILE       FILE is a trace, or a zip archive of one (unpacked by python3)
 *
 * Without -threads one thread does it all, in the trace's order. With it a thread per traced thread does that one's
 * operations, in the same order: the baton goes from thread to thread. The trace is kept outside the heap under test.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "check.h"

#include "../../bench/baton.h"
#include "../../bench/trace.h"
#include "entry_points.h"

struct object {
    char *bytes;
    size_t size;
    uint64_t seed;
};

static struct trace trace;
static struct object *objects; /* one for each slot of the trace */
static size_t live_bytes;

static void *outside_heap(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(pages != MAP_FAILED);
    return pages;
}

static void read_archive(const char *path) {
    char command[1024], text[32];
    int file = memfd_create("trace", 0);
    CHECK(file >= 0);
    snprintf(command, sizeof command,
             "exec python3 -c \"import sys, zipfile, shutil; z = zipfile.ZipFile(sys.argv[1]); "
             "shutil.copyfileobj(z.open(z.namelist()[0]), sys.stdout.buffer)\" '%s' >&%d",
             path, file);
    CHECK(system(command) == 0);
    snprintf(text, sizeof text, "/proc/self/fd/%d", file);
    trace = trace_read(text);
}

static void object_set(uint32_t slot, void *bytes, size_t size, uint64_t seed) {
    CHECK(bytes != NULL && objects[slot].bytes == NULL);
    CHECK(((uintptr_t)bytes & (size < 16 ? 7 : 15)) == 0);
    objects[slot] = (struct object){bytes, size, seed};
    pattern_fill(bytes, size, seed);
    live_bytes += size;
}

static char *object_take(uint32_t slot) {
    struct object *object = &objects[slot];
    char *bytes = object->bytes;
    CHECK(pattern_holds(bytes, object->size, object->seed));
    live_bytes -= object->size;
    object->bytes = NULL;
    return bytes;
}

static uint64_t baton_operations(void) {
    return trace.count;
}

static uint32_t baton_thread_of(uint64_t operation) {
    return trace.lines[operation].thread;
}

static bool baton_operate(uint64_t operation) {
    const struct line *line = &trace.lines[operation];
    size_t size = (size_t)line->size;
    char *bytes;
    CHECK(size == line->size);
    switch ((enum operation)line->operation) {
    case MALLOC_LINE: object_set(line->slot, malloc(size), size, operation); break;
    case CALLOC_LINE:
        bytes = calloc(1, size);
        CHECK(bytes != NULL && bytes_are_zero(bytes, size));
        object_set(line->slot, bytes, size, operation);
        break;
    case MEMALIGN_LINE:
        bytes = memalign((size_t)line->alignment, size);
        CHECK(((uintptr_t)bytes & (line->alignment - 1)) == 0);
        object_set(line->slot, bytes, size, operation);
        break;
    case REALLOC_LINE: {
        struct object old = line->old != NO_SLOT ? objects[line->old] : (struct object){0};
        bytes = realloc(line->old != NO_SLOT ? object_take(line->old) : NULL, size > 0 ? size : 1);
        CHECK(bytes != NULL && pattern_holds(bytes, old.size < size ? old.size : size, old.seed));
        object_set(line->slot, bytes, size, operation);
        break;
    }
    case FREE_LINE: free(object_take(line->slot)); break;
    default: break;
    }
    return line->operation == THREAD_DONE_LINE;
}

int main(int count, char **arguments) {
    bool threads = count == 3 && strcmp(arguments[1], "-threads") == 0;
    CHECK(count == (threads ? 3 : 2));
    const char *path = arguments[count - 1], *end = strrchr(path, '.');
    if (end != NULL && strcmp(end, ".zip") == 0) read_archive(path);
    else trace = trace_read(path);
    objects = outside_heap(sizeof *objects * (trace.slots + 1));
    struct player *players = outside_heap(sizeof *players * trace.threads);
    if (threads) baton_replay(players, trace.threads);
    else
        for (uint64_t i = 0; i < trace.count; i++) baton_operate(i);
    size_t left = 0;
    for (uint32_t slot = 0; slot < trace.slots; slot++) {
        if (objects[slot].bytes == NULL) continue;
        free(object_take(slot));
        left++;
    }
    CHECK(live_bytes == 0);
    printf("%llu operations of %u threads, at most %llu bytes alive, %zu objects left at the end\n",
           (unsigned long long)trace.count, trace.threads, (unsigned long long)trace.peak_live, left);
    return 0;
}
