/* replay.c - replays an allocation trace of Android's memory_replay with every byte of every object checked.
 *
 *   replay [-threads] FILE       FILE is a trace, or a zip archive of one (unpacked by python3)
 *
 * Without -threads one thread does it all, in the trace's order. With it a thread per traced thread does that one's
 * operations, in the same order: the baton goes from thread to thread. The trace is kept outside the heap under test.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "../../bench/trace.h"
#include "check.h"
#include "entry_points.h"

struct object {
    char *bytes;
    size_t size;
    uint64_t seed;
};

struct player {
    pthread_t thread;
    pthread_cond_t turn;
    bool running;
};

static struct trace trace;
static size_t position;
static struct object *objects; /* one for each slot of the trace */
static struct player *players;
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

static void object_set(uint32_t slot, void *bytes, size_t size) {
    CHECK(bytes != NULL && objects[slot].bytes == NULL);
    CHECK(((uintptr_t)bytes & (size < 16 ? 7 : 15)) == 0);
    objects[slot] = (struct object){bytes, size, position};
    pattern_fill(bytes, size, position);
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

static void replay_line(const struct line *line) {
    size_t size = (size_t)line->size;
    char *bytes;
    CHECK(size == line->size);
    switch ((enum operation)line->operation) {
    case MALLOC_LINE: object_set(line->slot, malloc(size), size); break;
    case CALLOC_LINE:
        bytes = calloc(1, size);
        CHECK(bytes != NULL && bytes_are_zero(bytes, size));
        object_set(line->slot, bytes, size);
        break;
    case MEMALIGN_LINE:
        bytes = memalign((size_t)line->alignment, size);
        CHECK(((uintptr_t)bytes & (line->alignment - 1)) == 0);
        object_set(line->slot, bytes, size);
        break;
    case REALLOC_LINE: {
        struct object old = line->old != NO_SLOT ? objects[line->old] : (struct object){0};
        bytes = realloc(line->old != NO_SLOT ? object_take(line->old) : NULL, size > 0 ? size : 1);
        CHECK(bytes != NULL && pattern_holds(bytes, old.size < size ? old.size : size, old.seed));
        object_set(line->slot, bytes, size);
        break;
    }
    case FREE_LINE: free(object_take(line->slot)); break;
    default: break;
    }
}

/* The baton: the player of trace.lines[position]; nobody's at the end. */
static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;

static void hand_over(void);

static void *play(void *argument) {
    struct player *self = argument;
    uint32_t index = (uint32_t)(self - players);
    bool done = false;
    pthread_mutex_lock(&baton);
    while (!done) {
        while (position < trace.count && trace.lines[position].thread != index) pthread_cond_wait(&self->turn, &baton);
        if (position == trace.count) break;
        while (!done && position < trace.count && trace.lines[position].thread == index) {
            done = trace.lines[position].operation == THREAD_DONE_LINE;
            replay_line(&trace.lines[position++]);
        }
        if (done) self->running = false;
        hand_over();
    }
    pthread_mutex_unlock(&baton);
    return NULL;
}

/* With the baton held: the thread whose turn it is may not have begun, or have ended and be needed again. */
static void hand_over(void) {
    if (position == trace.count) {
        for (size_t i = 0; i < trace.threads; i++) pthread_cond_signal(&players[i].turn);
        return;
    }
    struct player *next = &players[trace.lines[position].thread];
    if (next->running) {
        pthread_cond_signal(&next->turn);
        return;
    }
    if (next->thread != 0) CHECK(pthread_detach(next->thread) == 0);
    next->running = true;
    CHECK(pthread_create(&next->thread, NULL, play, next) == 0);
}

static void replay_with_threads(void) {
    for (size_t i = 0; i < trace.threads; i++) CHECK(pthread_cond_init(&players[i].turn, NULL) == 0);
    pthread_mutex_lock(&baton);
    hand_over();
    pthread_mutex_unlock(&baton);
    /* A player's successor is only started by another player, so wait for the lines' end first. */
    for (bool ended = false; !ended;) {
        usleep(1000);
        pthread_mutex_lock(&baton);
        ended = position == trace.count;
        pthread_mutex_unlock(&baton);
    }
    for (size_t i = 0; i < trace.threads; i++)
        if (players[i].thread != 0) CHECK(pthread_join(players[i].thread, NULL) == 0);
}

int main(int count, char **arguments) {
    bool threads = count == 3 && strcmp(arguments[1], "-threads") == 0;
    CHECK(count == (threads ? 3 : 2));
    const char *path = arguments[count - 1], *end = strrchr(path, '.');
    if (end != NULL && strcmp(end, ".zip") == 0) read_archive(path);
    else trace = trace_read(path);
    objects = outside_heap(sizeof *objects * (trace.slots + 1));
    players = outside_heap(sizeof *players * trace.threads);
    if (threads) replay_with_threads();
    else
        for (; position < trace.count; position++) replay_line(&trace.lines[position]);
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
