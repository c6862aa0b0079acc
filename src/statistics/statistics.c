/* statistics.c - gathers and prints the statistics. The tables of fields define the contents of text, JSON and XML. */
#include "statistics/statistics.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/huge.h"
#include "config/options.h"
#include "core/sealed.h"
#include "frontend/heap_statistics.h"
#include "frontend/thread_heap.h"
#include "jwmalloc.h"
#include "midend/midend.h"
#include "platform/host.h"
#include "platform/platform.h"

/* The tiers, in the order of the report, and what it says of the process. */
enum { PART_FRONTEND, PART_MIDEND, PART_BACKEND, PART_HUGE, TIERS, PART_PROCESS = TIERS };

static const struct {
    char name[9], about[58];
} tier_texts[TIERS] = {
    [PART_FRONTEND] = {"frontend", "small objects in slabs of one granule, per thread"},
    [PART_MIDEND] = {"midend", "middle-sized objects in slabs of several granules"},
    [PART_BACKEND] = {"backend", "ranges of granules: large objects, and both tiers' slabs"},
    [PART_HUGE] = {"huge", "objects with a mapping of their own"},
};

struct field {
    char name[17]; /* with _ between words, which the text shows as spaces */
    uint8_t tier;
    bool bytes;
    uint16_t offset; /* in struct statistics */
};

#define FIELD(part, member, name, bytes)                                                                               \
    { #name, PART_##part, bytes, offsetof(struct statistics, member.name) }

/* Those of the process come last. */
static const struct field fields[] = {
    FIELD(FRONTEND, frontend, in_use, true),
    FIELD(FRONTEND, frontend, reserved, true),
    FIELD(FRONTEND, frontend, given_back, true),
    FIELD(FRONTEND, frontend, metadata, true),
    FIELD(FRONTEND, frontend, heaps, false),
    FIELD(FRONTEND, frontend, abandoned_heaps, false),
    FIELD(FRONTEND, frontend, pooled_slabs, false),
    FIELD(MIDEND, midend, in_use, true),
    FIELD(MIDEND, midend, reserved, true),
    FIELD(BACKEND, backend, in_use, true),
    FIELD(BACKEND, backend, cached_mapped, true),
    FIELD(BACKEND, backend, cached_unmapped, true),
    FIELD(BACKEND, backend, given_back, true),
    FIELD(BACKEND, backend, sealed, true),
    FIELD(BACKEND, backend, metadata, true),
    FIELD(BACKEND, backend, roots, false),
    FIELD(BACKEND, backend, rounds, false),
    FIELD(BACKEND, backend, deferred, false),
    FIELD(BACKEND, backend, rolled_back, false),
    FIELD(BACKEND, backend, sync_reclaims, false),
    FIELD(HUGE, huge, bytes, true),
    FIELD(HUGE, huge, mapped_total, true),
    FIELD(HUGE, huge, mappings, false),
    FIELD(PROCESS, process, pid, false),
    FIELD(PROCESS, process, time, false),
    FIELD(PROCESS, process, resident, true),
    FIELD(PROCESS, process, peak, true),
    FIELD(PROCESS, process, objects, false),
};

enum { FIELDS = sizeof fields / sizeof *fields };

static uint64_t value_of(const struct statistics *statistics, const struct field *field) {
    return *(const uint64_t *)((const char *)statistics + field->offset);
}

/* What each class of a tier tells: slabs or ranges have these numbers, which stand so in statistics_types.h. */
enum { SLAB_COLUMNS = 4, RANGE_COLUMNS = 3 };

static const char column_names[2][SLAB_COLUMNS][16] = {{"size", "slabs", "objects", "capacity"},
                                                       {"granules", "mapped_ranges", "unmapped_ranges"}};

/* A tier's classes, or none: one row of numbers each. */
struct classes {
    const uint64_t *rows;
    unsigned count, columns;
};

static struct classes classes_of(const struct statistics *s, unsigned tier) {
    switch (tier) {
    case PART_FRONTEND:
        return (struct classes){(const uint64_t *)s->frontend.classes, s->frontend.class_count, SLAB_COLUMNS};
    case PART_MIDEND: return (struct classes){(const uint64_t *)s->midend.classes, s->midend.class_count, SLAB_COLUMNS};
    case PART_BACKEND:
        return (struct classes){(const uint64_t *)s->backend.classes, s->backend.class_count, RANGE_COLUMNS};
    default: return (struct classes){NULL, 0, 0};
    }
}

static uint64_t count_difference(uint64_t more, uint64_t less) {
    return more > less ? more - less : 0; /* values of different moments may contradict each other */
}

void statistics_gather(struct statistics *statistics) {
    backend_statistics(&statistics->backend);
    midend_statistics(thread_heap()->mid_caches, &statistics->midend);
    frontend_statistics(&statistics->frontend);
    heap_subtract_cached_objects(&statistics->midend);
    heap_subtract_cached_ranges(&statistics->backend);
    huge_statistics(&statistics->huge);
    statistics->backend.sealed = sealed_bytes();
    statistics->backend.in_use += statistics->backend.sealed;
    statistics->system_calls = platform_system_calls();
    /* the backend counts these slabs as in use */
    uint64_t given_back = statistics->frontend.given_back;
    statistics->backend.in_use = count_difference(statistics->backend.in_use, given_back);
    statistics->backend.cached_unmapped += given_back;
    uint64_t slabs = statistics->midend.reserved + statistics->frontend.reserved;
    statistics->objects =
        count_difference(statistics->backend.in_use, slabs) + statistics->midend.in_use + statistics->frontend.in_use;
}

/* Bytes from a line of /proc/self/status, such as "VmRSS:     1234 kB". */
static uint64_t status_bytes(const char *status, const char *name) {
    const char *line = strstr(status, name);
    uint64_t kilobytes = 0;
    if (line == NULL) return 0;
    line += strlen(name);
    while (*line == ' ' || *line == '\t') line++;
    for (; *line >= '0' && *line <= '9'; line++) kilobytes = kilobytes * 10 + (uint64_t)(*line - '0');
    return kilobytes << 10;
}

void statistics_gather_report(struct statistics *statistics) {
    char status[2048];
    struct process_statistics *process = &statistics->process;
    statistics_gather(statistics);
    status[platform_read_file("/proc/self/status", status, sizeof status - 1)] = '\0';
    *process = (struct process_statistics){.pid = platform_process_id(),
                                           .time = platform_seconds(),
                                           .resident = status_bytes(status, "\nVmRSS:"),
                                           .peak = status_bytes(status, "\nVmHWM:"),
                                           .objects = statistics->huge.mappings};
    for (unsigned i = 0; i < statistics->frontend.class_count; i++)
        process->objects += statistics->frontend.classes[i].objects;
    for (unsigned i = 0; i < statistics->midend.class_count; i++)
        process->objects += statistics->midend.classes[i].objects;
}

bool statistics_find(const char *name, size_t *number) {
    for (*number = 0; fields[*number].tier != PART_PROCESS; ++*number) {
        const char *tier = tier_texts[fields[*number].tier].name;
        size_t length = strlen(tier);
        if (strncmp(name, tier, length) == 0 && name[length] == '.' &&
            strcmp(name + length + 1, fields[*number].name) == 0)
            return true;
    }
    return false;
}

int statistics_read(size_t number, size_t *value) {
    struct statistics statistics;
    if (number >= FIELDS || fields[number].tier == PART_PROCESS) return ENOENT;
    statistics_gather(&statistics);
    *value = (size_t)value_of(&statistics, &fields[number]);
    return 0;
}

/* --- Text, JSON and XML: the same report ------------------------------------------------------------------------ */

enum { PROGRAM_MOST = 128, NUMBER_AT = 20, NUMBER_WIDTH = 14 };

/* Pieces of a report. Those that open something come before NODE_END. Only in XML the members of a list have a name. */
enum node {
    NODE_TEXT,
    NODE_NUMBER,
    NODE_BYTES,
    NODE_CELL,
    NODE_TREE,
    NODE_LIST,
    NODE_MEMBER,
    NODE_END,
    NODE_MEMBER_END,
    NODE_LIST_END
};

/* How a piece looks: $ stands for its name, # for its number, @ for its text, _ for its name with spaces, | for spaces
 * up to a column, % for its number at the end of one, ~ for what the text alone says of it; a comma is left out before
 * the first piece. */
static const char looks[][NODE_LIST_END + 1][13] = {
    [AS_TEXT] = {"@\n", "  _|%\n", "  _|% bytes\n", "%", "$: ~\n", "~\n", "", "", "\n", ""},
    [AS_JSON] = {",\"$\":\"@\"", ",\"$\":#", ",\"$\":#", ",\"$\":#", ",\"$\":{", ",\"$\":[", ",{", "}", "}", "]"},
    [AS_XML] = {"<$>@</$>", "<$>#</$>", "<$>#</$>", "<$>#</$>", "<$>", "<$>", "<$>", "</$>", "</$>", "</$>"}};

struct report {
    struct print_buffer *out;
    const struct statistics *statistics;
    enum statistics_form form;
    bool first; /* no comma comes before the next piece */
    const char *text, *about;
};

/* A text, in JSON and XML without the characters that would need quotes. */
static void print_program(struct report *report) {
    const char *text = report->text;
    if (report->form == AS_TEXT) print_foreign(report->out, text, strlen(text), PROGRAM_MOST);
    for (unsigned length = 0; report->form != AS_TEXT && *text != '\0' && length < PROGRAM_MOST - 1; text++, length++) {
        bool letter = (unsigned)(*text | 0x20) - 'a' < 26, more = strchr("0123456789./_+-@:~ ", *text);
        print_bytes(report->out, letter || more ? text : "?", 1);
    }
}

static void print_node(struct report *report, enum node node, const char *name, uint64_t number) {
    struct print_buffer *out = report->out;
    for (const char *look = looks[report->form][node]; *look != '\0'; look++) {
        switch (*look) {
        case '$': print_text(out, name); break;
        case '#': print_unsigned(out, number); break;
        case '@': print_program(report); break;
        case '~': print_text(out, report->about); break;
        case '_':
            for (; *name != '\0'; name++) print_bytes(out, *name == '_' ? " " : name, 1);
            break;
        case '|': print_to_column(out, NUMBER_AT); break;
        case '%': print_unsigned_padded(out, number, NUMBER_WIDTH); break;
        case ',':
            if (report->first) break; /* fall through */
        default: print_bytes(out, look, 1);
        }
    }
    report->first = node >= NODE_TREE && node < NODE_END;
}

static void print_fields(struct report *report, unsigned tier) {
    for (const struct field *field = fields; field < fields + FIELDS; field++)
        if (field->tier == tier)
            print_node(report, NODE_NUMBER + field->bytes, field->name, value_of(report->statistics, field));
}

static void print_classes(struct report *report, const struct classes *classes) {
    const uint64_t *row = classes->rows;
    bool ranges = classes->columns == RANGE_COLUMNS;
    if (classes->count == 0) return;
    report->about = ranges ? " granules from   free mapped free unmapped"
                           : "          size         slabs       objects      capacity";
    print_node(report, NODE_LIST, "classes", 0);
    for (unsigned i = 0; i < classes->count; i++, row += classes->columns) {
        if (report->form == AS_TEXT && row[1] == 0 && row[2] == 0) continue; /* no slabs, no ranges */
        print_node(report, NODE_MEMBER, "class", 0);
        for (unsigned column = 0; column < classes->columns; column++)
            print_node(report, NODE_CELL, column_names[ranges][column], row[column]);
        print_node(report, NODE_MEMBER_END, "class", 0);
    }
    print_node(report, NODE_LIST_END, "classes", 0);
}

static void print_tier(struct report *report, unsigned tier) {
    struct classes classes = classes_of(report->statistics, tier);
    const char *name = tier_texts[tier].name;
    report->about = tier_texts[tier].about;
    print_node(report, NODE_TREE, name, 0);
    print_fields(report, tier);
    print_classes(report, &classes);
    print_node(report, NODE_END, name, 0);
}

/* --- The report -------------------------------------------------------------------------------------------------- */

void statistics_print(print_sink *sink, void *cookie, enum statistics_form form, const struct statistics *statistics) {
    char data[1024 + 1]; /* a sink may write an end mark behind the text */
    struct print_buffer out = {.data = data, .size = sizeof data - 1, .sink = sink, .cookie = cookie};
    struct report report = {.out = &out, .statistics = statistics, .form = form, .text = platform_program()};
    static const char heads[][40] = {[AS_TEXT] = "jwmalloc " JW_VERSION " in ",
                                     [AS_JSON] = "{\"version\":\"" JW_VERSION "\"",
                                     [AS_XML] = "<malloc version=\"jwmalloc-" JW_VERSION "\">"};
    print_text(&out, heads[form]);
    print_node(&report, NODE_TEXT, "program", 0);
    print_fields(&report, PART_PROCESS);
    print_node(&report, NODE_BYTES, "in_objects", statistics->objects + statistics->huge.bytes);
    print_node(&report, NODE_NUMBER, "system_calls", statistics->system_calls);
    for (unsigned tier = 0; tier < TIERS; tier++) print_tier(&report, tier);
    static const char ends[][12] = {[AS_TEXT] = "", [AS_JSON] = "}\n", [AS_XML] = "</malloc>\n"};
    print_text(&out, ends[form]);
    print_flush(&out);
}

void statistics_report(print_sink *sink, void *cookie, enum statistics_form form) {
    struct statistics statistics;
    statistics_gather_report(&statistics);
    statistics_print(sink, cookie, form, &statistics);
}

static void write_statistics(void *cookie, const char *text, size_t length) {
    (void)cookie;
    platform_write_report(text, length);
}

CALLED_AT_EXIT void print_at_exit(void) {
    if (option(&options.stats) == STATS_EXIT)
        statistics_report(write_statistics, NULL, option(&options.stats_format) == STATS_JSON ? AS_JSON : AS_TEXT);
}
