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
#include "trace.h"

struct player {
    pthread_t thread;
    pthread_cond_t turn;
    bool running, joinable;
};

static struct trace trace;
static char **objects;
static uint64_t *sizes;
static struct player *players;
static uint64_t position, sample_every;
static long resident_start, resident_peak, resident_end;
static double in_turns;
static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;

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

static void replay_line(const struct line *line) {
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
    if (sample_every != 0 && position % sample_every == 0) sample_growth();
}

static void *play(void *argument);

/* With the baton held. The next thread may not have begun, or have ended and be needed again. */
static void hand_over(void) {
    if (position == trace.count) {
        pthread_cond_signal(&finished);
        for (uint32_t i = 0; i < trace.threads; i++) pthread_cond_signal(&players[i].turn);
        return;
    }
    struct player *next = &players[trace.lines[position].thread];
    if (next->running) {
        pthread_cond_signal(&next->turn);
        return;
    }
    if (next->joinable) pthread_detach(next->thread);
    next->running = next->joinable = true;
    thread_start(&next->thread, play, next);
}

static void *play(void *argument) {
    struct player *self = argument;
    uint32_t number = (uint32_t)(self - players);
    bool done = false;
    pthread_mutex_lock(&baton);
    while (!done) {
        while (position < trace.count && trace.lines[position].thread != number) pthread_cond_wait(&self->turn, &baton);
        if (position == trace.count) break;
        double start = seconds_now();
        while (!done && position < trace.count && trace.lines[position].thread == number) {
            done = trace.lines[position].operation == THREAD_DONE_LINE;
            replay_line(&trace.lines[position++]);
        }
        in_turns += seconds_now() - start;
        if (done) self->running = false;
        hand_over();
    }
    pthread_mutex_unlock(&baton);
    return NULL;
}

static void replay_with_threads(void) {
    for (uint32_t i = 0; i < trace.threads; i++) CHECK(pthread_cond_init(&players[i].turn, NULL) == 0);
    pthread_mutex_lock(&baton);
    hand_over();
    while (position < trace.count) pthread_cond_wait(&finished, &baton);
    pthread_mutex_unlock(&baton);
    for (uint32_t i = 0; i < trace.threads; i++)
        if (players[i].joinable) CHECK(pthread_join(players[i].thread, NULL) == 0);
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
    players = map_table(sizeof *players * trace.threads);
    free(malloc(1));
    resident_start = resident_peak = resident_kilobytes();
    struct measure start = measure_now();
    if (threads != 0) replay_with_threads();
    else
        for (; position < trace.count; position++) replay_line(&trace.lines[position]);
    struct measure end = measure_now();
    if (threads != 0) end.seconds = start.seconds + in_turns;
    sample();
    dprintf(STDOUT_FILENO,
            "{\"threads\": %u, \"live_kb\": %llu, \"ignored\": %llu, \"growth_kb\": %ld, \"left_kb\": %ld}\n",
            trace.threads, (unsigned long long)trace.peak_live / 1024, (unsigned long long)trace.ignored,
            resident_peak - resident_start, resident_end - resident_start);
    measure_print(start, end, trace.count);
    return 0;
}
