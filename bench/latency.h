/* latency.h - times every malloc and free by the processor's time stamp counter, and counts the times.
 *
 * Each thread counts in a table of its own: one counter per tick below DIRECT, and single entries above. Tables are
 * mapped before the measured part and are taken over by later threads. bench_latency.py subtracts what timing itself
 * costs, which "empty" counts, and merges the tables in an HdrHistogram.
 *
 * Calls in the middle of which the scheduler took the processor away are told apart ("off"): every allocator has them,
 * the more, the longer its calls are. The kernel forgets a thread's restartable sequence when it puts the thread off
 * the processor. Calls that waited of their own will (for a lock, the kernel's too) are not among them.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <inttypes.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

enum { DIRECT = 1 << 14, SLOW = 1 << 14, EMPTY_RUNS = 20000, MOST_THREADS = 1024, CALIBRATION_MS = 50 };
enum kind { MALLOC, FREE, KINDS };

struct some {
    uint64_t ticks[SLOW];
    uint32_t count;
};

struct latencies {
    uint32_t direct[KINDS][DIRECT];
    struct some slow[KINDS], off[KINDS];
    long waits;
};

static struct latencies *tables;
static uint32_t table_count;
static _Atomic bool table_taken[MOST_THREADS];
static _Thread_local struct latencies *mine;
static uint32_t empty[DIRECT];
static uint64_t nowhere; /* empty_sequence */

/* Waits for earlier instructions, so that a call is timed from its beginning to its end. */
static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
    return now;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/* The thread's word for the sequence that it is in; one that nobody clears where there is no such thing. */
static inline volatile uint64_t *sequence(void) {
#ifdef RSEQ_SIG
    char *rseq = (char *)__builtin_thread_pointer() + __rseq_offset;
    if (__rseq_size > 0) return (volatile uint64_t *)(rseq + offsetof(struct rseq, rseq_cs));
#endif
    static _Thread_local volatile uint64_t nobody;
    return &nobody;
}

/* One that no instruction is in, so that it is never restarted. */
static inline uint64_t empty_sequence(void) {
#ifdef RSEQ_SIG
    static const uint32_t place[2] = {RSEQ_SIG, 0}; /* the signature goes before where it would be restarted */
    static struct rseq_cs sequence;
    sequence.start_ip = (uintptr_t)&place[0];
    sequence.post_commit_offset = 1;
    sequence.abort_ip = (uintptr_t)&place[1];
    return (uintptr_t)&sequence;
#else
    return 1;
#endif
}

static inline long own_waits(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static inline bool was_put_off(void) {
    if (*sequence() != 0) return false;
    long before = mine->waits;
    return (mine->waits = own_waits()) == before;
}

static inline void latency_enter(void) {
    for (uint32_t i = 0; mine == NULL; i = (i + 1) % table_count)
        if (!atomic_exchange(&table_taken[i], true)) mine = &tables[i];
    mine->waits = own_waits();
}

static inline void latency_leave(void) {
    struct latencies *table = mine;
    mine = NULL;
    if (table != NULL) atomic_store(&table_taken[table - tables], false);
}

static inline void latency_begin(void) {
    if (mine == NULL) latency_enter();
    *sequence() = nowhere;
}

static inline void add(struct some *some, uint64_t taken) {
    some->ticks[some->count++ % SLOW] = taken;
}

static inline void latency_count(enum kind kind, uint64_t taken) {
    if (was_put_off()) add(&mine->off[kind], taken);
    else if (taken < DIRECT) mine->direct[kind][taken]++;
    else add(&mine->slow[kind], taken);
}

static inline void *measured_malloc(size_t size) {
    latency_begin();
    uint64_t start = ticks();
    void *object = malloc(size);
    latency_count(MALLOC, ticks() - start);
    return object;
}

static inline void measured_free(void *object) {
    latency_begin();
    uint64_t start = ticks();
    free(object);
    latency_count(FREE, ticks() - start);
}

static inline void *latency_pages(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pages == MAP_FAILED) _exit(3);
    return pages;
}

/* One table more, for the main thread. */
static inline void latency_start(uint32_t threads) {
    table_count = threads + 1;
    if (table_count > MOST_THREADS) _exit(3);
    tables = latency_pages(sizeof *tables * table_count);
    nowhere = empty_sequence();
    for (int i = 0; i < EMPTY_RUNS; i++) {
        uint64_t start = ticks(), taken = ticks() - start;
        if (taken < DIRECT) empty[taken]++;
    }
}

static inline double ticks_per_nanosecond(void) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    uint64_t first = ticks();
    usleep(CALIBRATION_MS * 1000);
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t last = ticks();
    double nanoseconds = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
    return (double)(last - first) / nanoseconds;
}

static inline void print_some(const char *off, const char *name, const struct some *some) {
    if (some->count > SLOW) dprintf(STDOUT_FILENO, "lost %" PRIu32 " 0\n", some->count - SLOW);
    for (uint32_t i = 0; i < some->count && i < SLOW; i++)
        dprintf(STDOUT_FILENO, "%s%s %" PRIu64 " 1\n", off, name, some->ticks[i]);
}

/* Lines "KIND TICKS COUNT", after one with the rate of ticks; "off-KIND" where the thread was put off the processor. */
static inline void latency_print(void) {
    static const char *const names[KINDS] = {"malloc", "free"};
    dprintf(STDOUT_FILENO, "rate %.6f\n", ticks_per_nanosecond());
    for (uint32_t i = 0; i < DIRECT; i++)
        if (empty[i] > 0) dprintf(STDOUT_FILENO, "empty %" PRIu32 " %" PRIu32 "\n", i, empty[i]);
    for (int kind = 0; kind < KINDS; kind++) {
        for (uint32_t i = 0; i < DIRECT; i++) {
            uint64_t sum = 0;
            for (uint32_t table = 0; table < table_count; table++) sum += tables[table].direct[kind][i];
            if (sum > 0) dprintf(STDOUT_FILENO, "%s %" PRIu32 " %" PRIu64 "\n", names[kind], i, sum);
        }
        for (uint32_t table = 0; table < table_count; table++) {
            print_some("", names[kind], &tables[table].slow[kind]);
            print_some("off-", names[kind], &tables[table].off[kind]);
        }
    }
}

#endif
