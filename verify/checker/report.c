/* report.c - what the user sees: progress, verdict, and for a failure the execution that led to it. */
#include "engine.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double started;

static double clock_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double now(void) {
    return clock_seconds() - started;
}

/* ---- Progress and verdict */

void report_progress(bool last) {
    static double next = 1;
    double seconds = now();
    if (!settings.progress || (seconds < next && !last)) return;
    next = seconds + 1;
    struct counters sum = shared_counters();
    uint64_t runs = sum.complete + sum.dead_ends;
    if (choice_is_random()) {
        fprintf(stderr, "%6.0f s  %" PRIu64 " random executions, %" PRIu64 " dead ends\n", seconds, sum.complete,
                sum.dead_ends);
        return;
    }
    double estimate = sum.explored > 0 ? (double)runs / sum.explored : 0;
    fprintf(stderr, "%6.0f s  %" PRIu64 " executions, %" PRIu64 " dead ends; about %.2g %% of %.2g runs\n", seconds,
            sum.complete, sum.dead_ends, sum.explored * 100, estimate);
}

static void print_outcomes(void) {
    for (unsigned i = 0; i < shared->outcomes; i++) {
        printf("outcome");
        for (unsigned k = 0; k < shared->outcome[i].length; k++) printf(" %d", shared->outcome[i].values[k]);
        printf("  x%" PRIu64 "\n", shared->outcome[i].count);
    }
}

int report_verdict(const struct verdict *verdict) {
    struct counters sum = shared_counters();
    double seconds = now();
    if (settings.outcomes) print_outcomes();
    printf("%s: %" PRIu64 " executions, %" PRIu64 " dead ends; %u passes, %.3f s", verdict->verdict, sum.complete,
           sum.dead_ends, verdict->passes, seconds);
    if (verdict->bound >= 0) printf("; bound %d", verdict->bound);
    printf("%s%s\n", verdict->message ? "; " : "", verdict->message ? verdict->message : "");
    json_write(verdict);
    coverage_write();
    return strcmp(verdict->verdict, "complete") ? 3 : 0;
}

_Noreturn void stop_unable(const char *format, ...) {
    va_list list;
    fiber_use_main_tls();
    va_start(list, format);
    fprintf(stderr, "checker: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    fflush(NULL);
    _exit(2);
}

/* ---- Failures */

static const char *const operation_names[] = {"load",  "store",  "rmw",  "cas",    "lock", "once",
                                              "fence", "create", "join", "choose", "stop"};
static const char *const order_names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};

static void print_values(const struct event *event) {
    uint64_t value = event->value, old = event->old;
    if (event->operation == LOAD) printf(" -> %" PRIx64, value);
    if (event->operation == STORE) printf(" = %" PRIx64 "%s", value, event->early ? " (early in order)" : "");
    if (event->operation >= RMW && event->operation <= ONCE) {
        if (event->failed) printf(" -> %" PRIx64 " fails%s", old, event->spurious ? " for no reason" : "");
        else printf(" %" PRIx64 " => %" PRIx64, old, value);
    }
    if (event->operation == STORE) return;
    if (event->from >= 0) printf("  [from %d]", event->from);
    else printf("  [initial]");
    if (event->stale && !event->sequence) printf(" STALE");
}

static void print_event(unsigned number, const char *place) {
    const struct event *event = &events[number];
    char name[96] = "";
    printf("  %3u %*sT%u %s", number, 4 * event->thread, "", event->thread, operation_names[event->operation]);
    if (event->operation <= ONCE) {
        describe_address(event->address, name, sizeof name);
        printf(" %s %s", name, order_names[event->order]);
        print_values(event);
    } else if (event->operation == FENCE) {
        printf(" %s", order_names[event->order]);
    } else if (event->operation == STOP) {
        printf(" for good");
    } else {
        printf(event->operation == CHOOSE ? " %u" : " T%u",
               (unsigned)(event->operation == CHOOSE ? event->value : event->address));
    }
    printf("    %s\n", place);
}

static void print_execution(void) {
    enum { SHOWN = 2000 };
    static uint32_t pcs[SHOWN];
    static char places[SHOWN][160];
    unsigned first = run.events > SHOWN ? run.events - SHOWN : 0;
    for (unsigned i = first; i < run.events; i++) pcs[i - first] = events[i].pc;
    describe_places(run.events - first, pcs, places);
    if (first) printf("  ... %u events before\n", first);
    for (unsigned i = first; i < run.events; i++) print_event(i, places[i - first]);
}

static const char *other_place(const char *kind) {
    static const char *const names[][2] = {
        {"race", "against"}, {"use-after-free", "freed at"}, {"double-free", "freed at"}, {"unmapped", "unmapped at"}};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(kind, names[i][0])) return names[i][1];
    return strcmp(kind, "mixed-size") ? "allocated at" : "against";
}

static void print_failure(const char *kind, uint64_t address, uint32_t other_pc, const char *message) {
    struct counters sum = shared_counters();
    char places[2][160], name[96];
    const uint32_t pcs[2] = {(uint32_t)client_pc, other_pc};
    describe_places(other_pc ? 2 : 1, pcs, places);
    printf("FAILED after %" PRIu64 " runs: T%u: %s: %s\n", sum.complete + sum.dead_ends + 1, run.current, kind,
           message);
    if (client_pc) printf("  at %s\n", places[0]);
    if (other_pc) printf("  %s %s\n", other_place(kind), places[1]);
    if (address) {
        describe_address(address, name, sizeof name);
        printf("  address %" PRIx64 ", %s\n", address, name);
    }
    print_execution();
}

static bool is_debugged(void) {
    char line[256];
    int tracer = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "TracerPid: %d", &tracer);
    if (status) fclose(status);
    return tracer != 0;
}

_Noreturn void fail(const char *kind, uint64_t address, uint32_t other_pc, const char *format, ...) {
    static char message[512];
    va_list list;
    fiber_use_main_tls();
    run.active = false;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    if (atomic_exchange(&shared->failed, 1)) _exit(3);
    print_failure(kind, address, other_pc, message);
    if (!settings.replay) replay_save();
    json_write(&(struct verdict){"failed", kind, message, 0, -1});
    fflush(NULL);
    if (settings.stop_in_debugger || (settings.replay && is_debugged())) raise(SIGTRAP);
    _exit(1);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    fiber_use_main_tls();
    if (!run.active) stop_unable("the checker itself got signal %d at %p", number, info->si_addr);
    uint64_t address = (uint64_t)info->si_addr, stacks = ARENA_STACKS;
    if (address - stacks < (uint64_t)THREADS * STACK_SIZE && (address - stacks) % STACK_SIZE < 4096)
        fail("crash", address, 0, "stack overflow");
    fail("crash", address, 0, "signal %d; last known place:", number);
}

void report_start(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    static char stack[1 << 17];
    started = clock_seconds();
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    action.sa_sigaction = on_signal;
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaction(numbers[i], &action, NULL);
}
