/* reader.c - jwwatch PID [--map] [--every MS]: the state of a watched process as a line of JSON, for the tools.
 *
 * --map: also roots, runs of ranges, huge objects. --every: a line so often, until the process ends. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/reclaimer_words.h"
#include "base/published.h"
#include "watch/remote.h"
#include "watch/state.h"

/* The simulated platform counts its own. */
_Atomic(size_t) linux_calls;
PUBLISHED(linux_calls);

static const char *const path_names[SLOW_PATHS] = {"small", "mid", "large", "free"};
static const char *const kind_names[RUN_KINDS] = {"small",    "mid",  "large",    "free",
                                                  "unmapped", "held", "deferred", "closed"};
static const char *const thread_states[] = {"none", "runs", "freeing threads run rounds"};

static uint64_t status_value(const char *status, const char *name) {
    const char *line = strstr(status, name);
    return line ? strtoull(line + strlen(name), NULL, 10) << 10 : 0;
}

static void read_status(pid_t pid) {
    char path[64], status[4096];
    struct process_statistics *process = &state.statistics.process;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    status[file ? fread(status, 1, sizeof status - 1, file) : 0] = '\0';
    if (file) fclose(file);
    process->pid = (uint64_t)pid;
    process->time = (uint64_t)time(NULL);
    process->resident = status_value(status, "\nVmRSS:");
    process->peak = status_value(status, "\nVmHWM:");
}

static void write_text(void *cookie, const char *text, size_t length) {
    (void)cookie;
    while (length > 0 && text[length - 1] == '\n') length--; /* all on one line */
    fwrite(text, 1, length, stdout);
}

static void print_statistics(void) {
    statistics_print(write_text, NULL, AS_JSON, &state.statistics);
}

static void print_slow(void) {
    for (unsigned path = 0; path < SLOW_PATHS; path++) {
        const struct slow_times *slow = &state.page.slow[path];
        printf("%s{\"path\":\"%s\",\"nanoseconds\":%" PRIu64 ",\"times\":[", path ? "," : "", path_names[path],
               slow->nanoseconds);
        for (unsigned i = 0; i < WATCH_TIMES; i++) printf("%s%" PRIu64, i ? "," : "", slow->times[i]);
        printf("]}");
    }
}

static void print_classes(const char *name, const struct class_bytes *bytes, unsigned count, const uint64_t *sizes) {
    printf(",\"%s\":[", name);
    for (unsigned i = 0; i < count; i++)
        printf("%s{\"size\":%" PRIu64 ",\"in_use\":%" PRIu64 ",\"cached_mapped\":%" PRIu64
               ",\"cached_unmapped\":%" PRIu64 "}",
               i ? "," : "", sizes[i], bytes[i].in_use, bytes[i].mapped, bytes[i].unmapped);
    printf("]");
}

static void print_all_classes(void) {
    uint64_t sizes[RANGE_CLASSES_MOST];
    const struct statistics *s = &state.statistics;
    for (unsigned i = 0; i < s->frontend.class_count; i++) sizes[i] = s->frontend.classes[i].size;
    print_classes("small", state.small, s->frontend.class_count, sizes);
    for (unsigned i = 0; i < s->midend.class_count; i++) sizes[i] = s->midend.classes[i].size;
    print_classes("mid", state.mid, s->midend.class_count, sizes);
    for (unsigned i = 0; i < s->backend.class_count; i++) sizes[i] = s->backend.classes[i].granules * GRANULE_SIZE;
    print_classes("ranges", state.ranges, s->backend.class_count, sizes);
}

static void print_threads(void) {
    const char *comma = "";
    printf(",\"heaps\":[");
    for (uint32_t number = 1; number <= state.heap_count; number++) {
        const struct heap_bytes *heap = &state.heaps[number];
        printf("%s{\"heap\":%u,\"thread\":%u,\"abandoned\":%s,\"slow_paths\":%u,\"slabs\":%" PRIu64
               ",\"reserved\":%" PRIu64 ",\"out\":%" PRIu64 ",\"pooled\":%" PRIu64 ",\"given_back\":%" PRIu64
               ",\"cached_mid\":%" PRIu64 ",\"cached_ranges\":%" PRIu64 "}",
               comma, number, heap->thread, heap->abandoned ? "true" : "false", heap->slow_paths, heap->slabs,
               heap->reserved, heap->out, heap->pooled, heap->given_back, heap->cached_mid, heap->cached_ranges);
        comma = ",";
    }
    printf("]");
}

static void print_addresses(const char *name, const uintptr_t *addresses, size_t count) {
    printf(",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) printf("%s%" PRIuPTR, i ? "," : "", addresses[i]);
    printf("]");
}

static void print_map(void) {
    print_addresses("roots", state.roots, state.root_count);
    print_addresses("spare_roots", state.spares, state.spare_count);
    printf(",\"root_size\":%zu,\"granule_size\":%zu,\"runs\":[", ROOT_SIZE, GRANULE_SIZE);
    for (size_t i = 0; i < state.run_count; i++) {
        const struct run *run = &state.runs[i];
        printf("%s[%" PRIuPTR ",%zu,\"%s\",%u,%u,%" PRIu64 "]", i ? "," : "", run->address,
               run->granules * GRANULE_SIZE, kind_names[run->kind], run->size, run->owner, run->used);
    }
    printf("],\"huge\":[");
    for (size_t i = 0; i < state.huge_count; i++)
        printf("%s[%" PRIuPTR ",%zu]", i ? "," : "", state.huge[i].address, state.huge[i].granules * GRANULE_SIZE);
    printf("]");
}

static void print_state(void) {
    printf("{\"library\":\"%.16s\",\"started\":%" PRIu64 ",\"missing_pages\":%zu,\"statistics\":", state.page.library,
           state.page.started / 1000000000, remote_missing());
    print_statistics();
    printf(",\"reclamation\":{\"rounds\":%" PRIu64 ",\"wakeups\":%" PRIu64 ",\"thread\":\"%s\"},\"slow\":[",
           state.statistics.backend.rounds, state.wakeups, thread_states[state.reclaimer_state % 3]);
    print_slow();
    printf("]");
    print_all_classes();
    print_threads();
    if (state.wants_runs) print_map();
    printf("}\n");
    fflush(stdout);
}

int main(int count, char **words) {
    unsigned every = 0;
    pid_t pid = count > 1 ? atoi(words[1]) : 0;
    for (int i = 2; i < count; i++) {
        if (strcmp(words[i], "--map") == 0) state.wants_runs = true;
        else if (strcmp(words[i], "--every") == 0 && i + 1 < count) every = (unsigned)atoi(words[++i]);
        else pid = 0;
    }
    if (pid <= 0) fail("usage: jwwatch PID [--map] [--every MS]");
    remote_open(pid);
    state_start();
    for (;;) {
        if (!remote_look(&state.page) || !remote_try(state_gather)) fail("process %d has ended", pid);
        read_status(pid);
        print_state();
        if (every == 0) return 0;
        nanosleep(&(struct timespec){every / 1000, every % 1000 * 1000000L}, NULL);
    }
}
