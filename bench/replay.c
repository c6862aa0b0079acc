/* replay.c - replays an allocation trace (trace.h); every byte of every object is written.
 *
 *   replay FILE threads=0|1 sample=N check=0|1
 *
 * threads=0: one thread does all, in the trace's order. 1: a thread for each traced one does that one's operations, in
 * the same order, each waiting for its turn; only turns are timed. With sample, the exact resident size is read after N
 * operations when there was a page fault, without which it cannot have grown. That takes long: such a run is for
 * memory, the others are for time. With check the trace is only read.
 */
#include "bench.h"

#include "baton.h"
#include "trace.h"

static struct trace trace;
static char **objects;
static uint64_t *sizes;
static uint64_t sample_every;
static long resident_start, resident_peak, resident_end;

/* Not from /proc/self/statm, which leaves out what the processors have not handed in yet. */
static long resident_kilobytes(void) {
    char text[2048];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *line = strstr(text, "Rss:");
    return line != NULL ? atol(line + 4) : -1;
}

static void sample(void) {
    resident_end = resident_kilobytes();
    if (resident_end > resident_peak) resident_peak = resident_end;
}

static void sample_growth(void) {
    static long faults;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_minflt == faults) return;
    faults = usage.ru_minflt;
    sample();
}

static void take(uint32_t slot, char *object, uint64_t size) {
    CHECK(object != NULL);
    memset(object, (int)(slot & 0xff), size);
    objects[slot] = object;
    sizes[slot] = size;
}

static char *give(uint32_t slot) {
    char *object = objects[slot];
    uint64_t size = sizes[slot];
    CHECK(size == 0 || ((unsigned char)object[0] == (slot & 0xff) && (unsigned char)object[size - 1] == (slot & 0xff)));
    return object;
}

static uint64_t baton_operations(void) {
    return trace.count;
}

static uint32_t baton_thread_of(uint64_t operation) {
    return trace.lines[operation].thread;
}

static bool baton_operate(uint64_t operation) {
    const struct line *line = &trace.lines[operation];
    switch ((enum operation)line->operation) {
    case MALLOC_LINE: take(line->slot, malloc(line->size), line->size); break;
    case CALLOC_LINE: take(line->slot, calloc(1, line->size), line->size); break;
    case MEMALIGN_LINE: {
        uint64_t alignment = line->alignment < sizeof(void *) ? sizeof(void *) : line->alignment;
        take(line->slot, aligned_alloc(alignment, line->size), line->size);
        break;
    }
    case REALLOC_LINE:
        take(line->slot, realloc(line->old != NO_SLOT ? give(line->old) : NULL, line->size + (line->size == 0)),
             line->size);
        break;
    case FREE_LINE: free(give(line->slot)); break;
    default: break;
    }
    if (sample_every != 0 && operation % sample_every == 0) sample_growth();
    return line->operation == THREAD_DONE_LINE;
}

int main(int count, char **arguments) {
    unsigned threads = 0, only_read = 0;
    unsigned long long every = 0;
    for (int i = 2; i < count; i++)
        CHECK(sscanf(arguments[i], "threads=%u", &threads) == 1 || sscanf(arguments[i], "sample=%llu", &every) == 1 ||
              sscanf(arguments[i], "check=%u", &only_read) == 1);
    CHECK(count >= 2);
    trace = trace_read(arguments[1]);
    sample_every = every;
    if (only_read != 0) {
        dprintf(STDOUT_FILENO, "{\"threads\": %u, \"live_kb\": %llu}\n", trace.threads,
                (unsigned long long)trace.peak_live / 1024);
        return 0;
    }
    objects = map_table(sizeof *objects * (trace.slots + 1));
    sizes = map_table(sizeof *sizes * (trace.slots + 1));
    struct player *players = map_table(sizeof *players * trace.threads);
    free(malloc(1));
    resident_start = resident_peak = resident_kilobytes();
    struct measure start = measure_now();
    if (threads != 0) baton_replay(players, trace.threads);
    else
        for (uint64_t i = 0; i < trace.count; i++) baton_operate(i);
    struct measure end = measure_now();
    if (threads != 0) end.seconds = start.seconds + baton.in_turns;
    sample();
    dprintf(STDOUT_FILENO,
            "{\"threads\": %u, \"live_kb\": %llu, \"ignored\": %llu, \"growth_kb\": %ld, \"left_kb\": %ld}\n",
            trace.threads, (unsigned long long)trace.peak_live / 1024, (unsigned long long)trace.ignored,
            resident_peak - resident_start, resident_end - resident_start);
    measure_print(start, end, trace.count);
    return 0;
}
