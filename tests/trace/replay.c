/* replay.c - replays an allocation trace of Android's memory_replay with every byte of every object checked.
 *
 *   replay [-threads] FILE       FILE is a trace, or a zip archive of one (unpacked by python3)
 *
 * Without -threads one thread does it all, in the trace's order. With it a thread per traced thread does that one's
 * operations, in the same order: the baton goes from thread to thread. Lines are kept outside the heap under test.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "check.h"
#include "entry_points.h"

enum { MAX_THREADS = 256, MAX_LINES = 1 << 22, TABLE = 1 << 23 };

enum operation { MALLOC, CALLOC, REALLOC, MEMALIGN, FREE, THREAD_DONE };

struct line {
    uint32_t thread; /* index into players */
    uint32_t operation;
    uint64_t pointer, old, size, alignment;
};

/* What stands for a traced pointer: open addressing, entries are never removed, only their object. */
struct object {
    uint64_t pointer;
    char *bytes;
    size_t size;
    uint64_t seed;
};

struct player {
    pthread_t thread;
    uint32_t id;
    bool running;
};

static struct line *lines;
static size_t count, position;
static struct object *table;
static struct player players[MAX_THREADS];
static size_t player_count;
static size_t live_bytes, peak_bytes;

static void *outside_heap(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(pages != MAP_FAILED);
    return pages;
}

static struct object *find(uint64_t pointer) {
    size_t slot = (size_t)((pointer * 0x9e3779b97f4a7c15u) >> 40) % TABLE;
    while (table[slot].pointer != pointer && table[slot].pointer != 0) slot = (slot + 1) % TABLE;
    table[slot].pointer = pointer;
    return &table[slot];
}

static uint32_t player_of(uint32_t id) {
    for (uint32_t i = 0; i < player_count; i++)
        if (players[i].id == id) return i;
    CHECK(player_count < MAX_THREADS);
    players[player_count].id = id;
    return (uint32_t)player_count++;
}

static void parse(const char *text) {
    static const char *const names[] = {"malloc", "calloc", "realloc", "memalign", "free", "thread_done"};
    unsigned id;
    char name[16];
    unsigned long long pointer, first = 0, second = 0;
    int got = sscanf(text, "%u: %15s %llx %lli %lli", &id, name, &pointer, &first, &second);
    CHECK(got >= 3 && count < MAX_LINES);
    struct line *line = &lines[count++];
    line->thread = player_of(id);
    line->pointer = pointer;
    while (strcmp(names[line->operation], name) != 0) CHECK(++line->operation <= THREAD_DONE);
    line->size = line->operation == MALLOC ? first : line->operation == CALLOC ? first * second : second;
    line->old = line->operation == REALLOC ? first : 0;
    line->alignment = line->operation == MEMALIGN ? first : 1;
}

static void read_lines(const char *path) {
    char command[1024], text[256];
    const char *end = strrchr(path, '.');
    bool zipped = end != NULL && strcmp(end, ".zip") == 0;
    snprintf(command, sizeof command,
             "exec python3 -c \"import sys, zipfile, shutil; z = zipfile.ZipFile('%s'); "
             "shutil.copyfileobj(z.open(z.namelist()[0]), sys.stdout.buffer)\"",
             path);
    FILE *file = zipped ? popen(command, "r") : fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(text, sizeof text, file) != NULL) parse(text);
    CHECK((zipped ? pclose(file) : fclose(file)) == 0);
    CHECK(count > 0);
}

static void object_set(struct object *object, void *bytes, size_t size) {
    CHECK(bytes != NULL && object->bytes == NULL);
    CHECK(((uintptr_t)bytes & (size < 16 ? 7 : 15)) == 0);
    *object = (struct object){object->pointer, bytes, size, position};
    pattern_fill(bytes, size, object->seed);
    live_bytes += size;
    if (live_bytes > peak_bytes) peak_bytes = live_bytes;
}

static char *object_take(struct object *object) {
    char *bytes = object->bytes;
    CHECK(pattern_holds(bytes, object->size, object->seed));
    live_bytes -= object->size;
    object->bytes = NULL;
    return bytes;
}

/* A real trace begins in the middle: an unknown pointer is one allocated before. */
static void replay_line(const struct line *line) {
    struct object *object = find(line->pointer);
    char *bytes;
    switch ((enum operation)line->operation) {
    case MALLOC: object_set(object, malloc(line->size), line->size); break;
    case CALLOC:
        bytes = calloc(1, line->size);
        CHECK(bytes != NULL && bytes_are_zero(bytes, line->size));
        object_set(object, bytes, line->size);
        break;
    case MEMALIGN:
        bytes = memalign(line->alignment, line->size);
        CHECK(((uintptr_t)bytes & (line->alignment - 1)) == 0);
        object_set(object, bytes, line->size);
        break;
    case REALLOC: {
        struct object *from = line->old != 0 ? find(line->old) : NULL;
        bool known = from != NULL && from->bytes != NULL;
        size_t kept = !known ? 0 : from->size < line->size ? from->size : line->size;
        uint64_t seed = known ? from->seed : 0;
        bytes = realloc(known ? object_take(from) : NULL, line->size > 0 ? line->size : 1);
        CHECK(bytes != NULL && pattern_holds(bytes, kept, seed));
        object_set(object, bytes, line->size);
        break;
    }
    case FREE:
        if (object->bytes != NULL) free(object_take(object));
        break;
    case THREAD_DONE: break;
    }
}

/* The baton: the player of lines[position]; nobody's at the end. */
static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turns[MAX_THREADS];

static void hand_over(void);

static void *play(void *argument) {
    struct player *self = argument;
    uint32_t index = (uint32_t)(self - players);
    bool done = false;
    pthread_mutex_lock(&baton);
    while (!done) {
        while (position < count && lines[position].thread != index) pthread_cond_wait(&turns[index], &baton);
        if (position == count) break;
        while (!done && position < count && lines[position].thread == index) {
            done = lines[position].operation == THREAD_DONE;
            replay_line(&lines[position++]);
        }
        if (done) self->running = false;
        hand_over();
    }
    pthread_mutex_unlock(&baton);
    return NULL;
}

/* With the baton held: the thread whose turn it is may not have begun, or have ended and be needed again. */
static void hand_over(void) {
    if (position == count) {
        for (size_t i = 0; i < player_count; i++) pthread_cond_signal(&turns[i]);
        return;
    }
    struct player *next = &players[lines[position].thread];
    if (next->running) {
        pthread_cond_signal(&turns[next - players]);
        return;
    }
    if (next->thread != 0) CHECK(pthread_detach(next->thread) == 0);
    next->running = true;
    CHECK(pthread_create(&next->thread, NULL, play, next) == 0);
}

static void replay_with_threads(void) {
    for (size_t i = 0; i < player_count; i++) CHECK(pthread_cond_init(&turns[i], NULL) == 0);
    pthread_mutex_lock(&baton);
    hand_over();
    pthread_mutex_unlock(&baton);
    /* A player's successor is only started by another player, so wait for the lines' end first. */
    for (bool ended = false; !ended;) {
        usleep(1000);
        pthread_mutex_lock(&baton);
        ended = position == count;
        pthread_mutex_unlock(&baton);
    }
    for (size_t i = 0; i < player_count; i++) CHECK(pthread_join(players[i].thread, NULL) == 0);
}

int main(int argument_count, char **arguments) {
    bool threads = argument_count == 3 && strcmp(arguments[1], "-threads") == 0;
    CHECK(argument_count == (threads ? 3 : 2));
    lines = outside_heap(sizeof *lines * MAX_LINES);
    table = outside_heap(sizeof *table * TABLE);
    read_lines(arguments[argument_count - 1]);
    if (threads) replay_with_threads();
    else
        for (; position < count; position++) replay_line(&lines[position]);
    size_t left = 0;
    for (size_t i = 0; i < TABLE; i++) {
        if (table[i].bytes == NULL) continue;
        free(object_take(&table[i]));
        left++;
    }
    printf("%zu operations of %zu threads, at most %zu bytes alive, %zu objects left at the end\n", count, player_count,
           peak_bytes, left);
    return 0;
}
