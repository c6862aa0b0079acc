/* put_off.c - for bench_test.py, which puts bench.h before it: a malloc that waits, and one that runs until the
 * scheduler prefers another thread. latency.h must tell them apart.
 */
#include <sched.h>

enum { CALLS = 5 };

static _Alignas(16) char memory[1 << 16];
static size_t used;
static enum { RETURN, WAIT, SPIN } then;

static long times_put_off(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

void *malloc(size_t size) {
    if (then == WAIT) usleep(2000); /* real time is what is measured */
    if (then == SPIN)
        for (long before = times_put_off(); times_put_off() == before;) continue;
    return memory + (used += (size + 15) & ~(size_t)15);
}

void free(void *object) {
    (void)object;
}

static void *compete(void *unused) {
    for (volatile bool forever = true; forever;) continue;
    return unused;
}

static void call(const char *name, int what) {
    then = what;
    for (int i = 0; i < CALLS; i++) measured_malloc(16);
    then = RETURN;
    dprintf(STDOUT_FILENO, "%s: %" PRIu32 " off, %" PRIu32 " slow\n", name, mine->off[MALLOC].count,
            mine->slow[MALLOC].count);
    mine->off[MALLOC].count = mine->slow[MALLOC].count = 0;
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    latency_start(1);
    *sequence() = nowhere;
    usleep(1000); /* off the processor, which ends a sequence */
    if (*sequence() != 0) {
        dprintf(STDOUT_FILENO, "not known here\n");
        return 0;
    }
    pthread_t other;
    thread_start(&other, compete, NULL);
    call("waits", WAIT);
    call("spins", SPIN);
    _exit(0);
}
