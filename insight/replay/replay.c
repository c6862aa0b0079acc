/* replay.c - does again what a recorded process did: the same calls in the same order by the same threads.
 *
 *   jwreplay PLAN kept=0|1 measure=0|1 step=N rest=MS      PLAN: made by tools/replay.py
 *
 * The threads pass a baton, so the order is the recorded one; only turns are timed. Every byte of an object is written,
 * and looked at before the object ends: with measure=1 all of it, else its first and last byte. kept=1 waits until a
 * call's time has come. measure=1 times each call and reads the resident memory often, the last time
 * `rest` after the last call; such a run is slower, so that
 * its own time is not looked at. The result is JSON; live bytes are in it after each `step` calls. */
#include "../../bench/bench.h"

#include "../../bench/baton.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum operation { MALLOC_CALL, CALLOC_CALL, REALLOC_CALL, ALIGNED_CALL, FREE_CALL, THREAD_DONE };
enum { DIRECT = 1024, HALF = DIRECT / 2, BUCKETS = DIRECT + 54 * HALF, SAMPLES = 400, WAIT_NS = 50000 };
enum { NO_SLOT = UINT32_MAX };

struct call {
    uint64_t time, size;
    uint32_t slot, old, thread;
    uint8_t operation, alignment;
    uint16_t unused;
};
_Static_assert(sizeof(struct call) == 32, "as tools/replay.py writes it");

struct plan {
    char magic[8];
    uint64_t count;
    uint32_t slots, threads;
    struct call calls[];
};

struct sample {
    uint64_t time;
    long resident, proportional;
};

static const struct plan *plan;
static unsigned char **objects;
static uint64_t *sizes, *lives;
static uint64_t start_time, waited, live_bytes, live_step;
static bool kept, measuring;
static uint32_t buckets[2][BUCKETS]; /* allocations, frees */
static struct sample samples[SAMPLES + 8];
static uint32_t sample_count;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sample(void) {
    char text[2048];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *resident = strstr(text, "Rss:"), *proportional = strstr(text, "Pss:");
    if (resident == NULL || proportional == NULL || sample_count == SAMPLES + 8) return;
    samples[sample_count++] = (struct sample){now() - start_time, atol(resident + 4), atol(proportional + 4)};
}

static void count_time(bool frees, uint64_t taken) {
    uint32_t bucket = (uint32_t)taken;
    if (taken >= DIRECT) {
        uint32_t shift = 63 - (uint32_t)__builtin_clzll(taken) - 9;
        bucket = DIRECT + (shift - 1) * HALF + (uint32_t)(taken >> shift) - HALF;
    }
    buckets[frees][bucket]++;
}

/* The highest time of the bucket in which the share of all calls is reached. */
static uint64_t percentile(bool frees, double share) {
    uint64_t all = 0, sum = 0;
    for (uint32_t i = 0; i < BUCKETS; i++) all += buckets[frees][i];
    for (uint32_t i = 0; i < BUCKETS; i++) {
        sum += buckets[frees][i];
        if ((double)sum < share * (double)all || sum == 0) continue;
        if (i < DIRECT) return i;
        uint32_t shift = (i - DIRECT) / HALF + 1;
        return (((uint64_t)((i - DIRECT) % HALF + HALF) + 1) << shift) - 1;
    }
    return 0;
}

static void look_at(uint32_t slot, uint64_t size) {
    const unsigned char *object = objects[slot], byte = (unsigned char)(slot * 37 + 1);
    if (size == 0) return;
    CHECK(object[0] == byte && object[size - 1] == byte);
    if (measuring && size > 1) CHECK(memcmp(object, object + 1, size - 1) == 0);
}

static void *allocate(const struct call *call) {
    switch ((enum operation)call->operation) {
    case CALLOC_CALL: return calloc(1, call->size);
    case REALLOC_CALL: return realloc(objects[call->old], call->size + (call->size == 0));
    case ALIGNED_CALL: {
        size_t alignment = (size_t)1 << call->alignment;
        return memalign(alignment < sizeof(void *) ? sizeof(void *) : alignment, call->size);
    }
    default: return malloc(call->size);
    }
}

static void do_call(const struct call *call) {
    if (call->operation == THREAD_DONE) return;
    uint32_t ends = call->operation == FREE_CALL ? call->slot : call->old;
    if (ends != NO_SLOT) {
        look_at(ends, sizes[ends]);
        live_bytes -= sizes[ends];
    }
    bool frees = call->operation == FREE_CALL;
    unsigned char *object = NULL;
    uint64_t start = measuring ? now() : 0;
    if (frees) free(objects[call->slot]);
    else object = allocate(call);
    if (measuring) count_time(frees, now() - start);
    if (frees) return;
    CHECK(object != NULL);
    objects[call->slot] = object;
    if (ends != NO_SLOT) {
        uint64_t common = call->size < sizes[ends] ? call->size : sizes[ends];
        CHECK(common == 0 || (object[0] == (unsigned char)(ends * 37 + 1) && object[common - 1] == object[0]));
    } else if (call->operation == CALLOC_CALL && call->size > 0) {
        CHECK(object[0] == 0 && object[call->size - 1] == 0);
    }
    memset(object, (int)(unsigned char)(call->slot * 37 + 1), call->size);
    sizes[call->slot] = call->size;
    live_bytes += call->size;
}

static void wait_for_time(const struct call *call) {
    uint64_t before = now(), due = start_time + call->time;
    if (due < before + WAIT_NS) return;
    struct timespec until = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    waited += now() - before;
}

static uint64_t baton_operations(void) {
    return plan->count;
}

static uint32_t baton_thread_of(uint64_t operation) {
    return plan->calls[operation].thread;
}

static bool baton_operate(uint64_t operation) {
    const struct call *call = &plan->calls[operation];
    uint64_t done = operation + 1;
    if (kept) wait_for_time(call);
    do_call(call);
    if (done % live_step == 0) lives[done / live_step - 1] = live_bytes;
    if (measuring && done % (plan->count / SAMPLES + 1) == 0) sample();
    return call->operation == THREAD_DONE;
}

static const struct plan *read_plan(const char *path) {
    int file = open(path, O_RDONLY);
    off_t size = lseek(file, 0, SEEK_END);
    CHECK(file >= 0 && size >= (off_t)sizeof(struct plan));
    const struct plan *found = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    CHECK(found != MAP_FAILED && memcmp(found->magic, "JWPLAN01", 8) == 0);
    CHECK(size == (off_t)(sizeof *found + found->count * sizeof(struct call)));
    close(file);
    return found;
}

/* Opens a counter of the instructions of this process's own code. -1: the processor's counters are not to be had. */
static int count_instructions(void) {
    struct perf_event_attr wanted = {.type = PERF_TYPE_HARDWARE, .size = sizeof wanted, .exclude_kernel = 1};
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.inherit = 1;
    return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
}

static void print_result(struct measure start, struct measure end, long long instructions, long before) {
    dprintf(STDOUT_FILENO, "{\"calls\": %llu, \"threads\": %u, \"seconds\": %.6f, \"user\": %.3f, \"system\": %.3f, ",
            (unsigned long long)plan->count, plan->threads, baton.in_turns - (double)waited * 1e-9,
            end.user - start.user, end.system - start.system);
    if (instructions >= 0) dprintf(STDOUT_FILENO, "\"instructions\": %lld, ", instructions);
    for (int frees = 0; frees < 2 && measuring; frees++)
        dprintf(STDOUT_FILENO, "\"%s\": {\"p50\": %llu, \"p99\": %llu, \"p99.99\": %llu, \"max\": %llu}, ",
                frees ? "free_ns" : "allocate_ns", (unsigned long long)percentile(frees, 0.5),
                (unsigned long long)percentile(frees, 0.99), (unsigned long long)percentile(frees, 0.9999),
                (unsigned long long)percentile(frees, 1));
    dprintf(STDOUT_FILENO, "\"before_kb\": %ld, \"highest_kb\": %ld, \"samples\": [", before,
            status_kilobytes("VmHWM:"));
    for (uint32_t i = 0; i < sample_count; i++)
        dprintf(STDOUT_FILENO, "%s[%llu, %ld, %ld]", i > 0 ? ", " : "", (unsigned long long)samples[i].time,
                samples[i].resident, samples[i].proportional);
    dprintf(STDOUT_FILENO, "], \"live\": [");
    for (uint64_t i = 0; i < plan->count / live_step; i++)
        dprintf(STDOUT_FILENO, "%s%llu", i > 0 ? ", " : "", (unsigned long long)lives[i]);
    dprintf(STDOUT_FILENO, "]}\n");
}

int main(int count, char **arguments) {
    unsigned keep = 0, measure = 0, rest = 0;
    unsigned long long step = 100000;
    CHECK(count >= 2);
    for (int i = 2; i < count; i++)
        CHECK(sscanf(arguments[i], "kept=%u", &keep) == 1 || sscanf(arguments[i], "measure=%u", &measure) == 1 ||
              sscanf(arguments[i], "step=%llu", &step) == 1 || sscanf(arguments[i], "rest=%u", &rest) == 1);
    CHECK(step > 0);
    plan = read_plan(arguments[1]);
    kept = keep != 0;
    measuring = measure != 0;
    live_step = step;
    objects = map_table(sizeof *objects * (plan->slots + 1));
    sizes = map_table(sizeof *sizes * (plan->slots + 1));
    lives = map_table(sizeof *lives * (plan->count / step + 1));
    struct player *players = map_table(sizeof *players * (plan->threads + 1));
    memset(buckets, 0, sizeof buckets);
    memset(samples, 0, sizeof samples);
    free(malloc(1));
    start_time = now();
    sample();
    long before = samples[0].resident;
    int counter = count_instructions();
    long long instructions = -1;
    struct measure start = measure_now();
    start_time = now();
    baton_replay(players, plan->threads);
    struct measure end = measure_now();
    if (counter < 0 || read(counter, &instructions, sizeof instructions) != sizeof instructions) instructions = -1;
    sample();
    if (measuring) {
        usleep(rest * 1000);
        sample();
    }
    print_result(start, end, instructions, before);
    return 0;
}
