/* statistics.c - gathers and prints the statistics. The tables of fields define the contents of text, JSON and XML. */
#include "statistics/statistics.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/huge.h"
#include "config/options.h"
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

/* A tier's classes: slabs or ranges, or none. */
struct classes {
    unsigned count;
    const struct slab_class_statistics *of_slabs;
    const struct backend_statistics *of_ranges;
};

static struct classes classes_of(const struct statistics *s, unsigned tier) {
    switch (tier) {
    case PART_FRONTEND: return (struct classes){s->frontend.class_count, s->frontend.classes, NULL};
    case PART_MIDEND: return (struct classes){s->midend.class_count, s->midend.classes, NULL};
    case PART_BACKEND: return (struct classes){s->backend.class_count, NULL, &s->backend};
    default: return (struct classes){0, NULL, NULL};
    }
}

static uint64_t difference(uint64_t more, uint64_t less) {
    return more > less ? more - less : 0; /* values of different moments may contradict each other */
}

void statistics_gather(struct statistics *statistics) {
    backend_statistics(&statistics->backend);
    midend_statistics(thread_heap()->mid_caches, &statistics->midend);
    frontend_statistics(&statistics->frontend);
    heap_subtract_cached_objects(&statistics->midend);
    heap_subtract_cached_ranges(&statistics->backend);
    huge_statistics(&statistics->huge);
    statistics->system_calls = platform_system_calls();
    /* the backend counts these slabs as in use */
    uint64_t given_back = statistics->frontend.given_back;
    statistics->backend.in_use = difference(statistics->backend.in_use, given_back);
    statistics->backend.cached_unmapped += given_back;
    uint64_t slabs = statistics->midend.reserved + statistics->frontend.reserved;
    statistics->objects =
        difference(statistics->backend.in_use, slabs) + statistics->midend.in_use + statistics->frontend.in_use;
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

/* --- Text ------------------------------------------------------------------------------------------------------- */

enum { PROGRAM_MOST = 128, LABEL_WIDTH = 18, NUMBER_WIDTH = 14 };

static void print_line(struct print_buffer *out, const char *name, uint64_t value, const char *unit) {
    unsigned width = LABEL_WIDTH;
    print_text(out, "  ");
    for (; *name != '\0'; name++, width--) print_bytes(out, *name == '_' ? " " : name, 1);
    print_text_padded(out, "", width);
    print_unsigned_padded(out, value, NUMBER_WIDTH);
    print_text(out, unit);
    print_text(out, "\n");
}

static void print_columns(struct print_buffer *out, const uint64_t *numbers, unsigned count) {
    for (unsigned i = 0; i < count; i++) print_unsigned_padded(out, numbers[i], NUMBER_WIDTH);
    print_text(out, "\n");
}

static void print_fields(struct print_buffer *out, const struct statistics *statistics, unsigned tier) {
    for (const struct field *field = fields; field < fields + FIELDS; field++)
        if (field->tier == tier)
            print_line(out, field->name, value_of(statistics, field), field->bytes ? " bytes" : "");
}

static void print_slab_classes(struct print_buffer *out, const struct slab_class_statistics *classes, unsigned count) {
    print_text(out, "          size         slabs       objects      capacity\n");
    for (unsigned i = 0; i < count; i++)
        if (classes[i].slabs != 0)
            print_columns(out, (uint64_t[]){classes[i].size, classes[i].slabs, classes[i].objects, classes[i].capacity},
                          4);
}

static void print_range_classes(struct print_buffer *out, const struct backend_statistics *backend) {
    print_text(out, " granules from   free mapped free unmapped\n");
    for (unsigned i = 0; i < backend->class_count; i++)
        if (backend->classes[i].mapped_ranges != 0 || backend->classes[i].unmapped_ranges != 0)
            print_columns(out,
                          (uint64_t[]){backend->classes[i].granules, backend->classes[i].mapped_ranges,
                                       backend->classes[i].unmapped_ranges},
                          3);
}

void statistics_print_text(struct print_buffer *out, const struct statistics *statistics) {
    print_text(out, "jwmalloc " JW_VERSION " in ");
    print_foreign(out, platform_program(), strlen(platform_program()), PROGRAM_MOST);
    print_text(out, "\n");
    print_fields(out, statistics, PART_PROCESS);
    print_line(out, "in_objects", statistics->objects + statistics->huge.bytes, " bytes");
    print_line(out, "system_calls", statistics->system_calls, "");
    for (unsigned tier = 0; tier < TIERS; tier++) {
        struct classes classes = classes_of(statistics, tier);
        print_text(out, tier_texts[tier].name);
        print_text(out, ": ");
        print_text(out, tier_texts[tier].about);
        print_text(out, "\n");
        print_fields(out, statistics, tier);
        if (classes.of_slabs != NULL) print_slab_classes(out, classes.of_slabs, classes.count);
        if (classes.of_ranges != NULL) print_range_classes(out, classes.of_ranges);
    }
}

/* --- JSON and XML: the same tree -------------------------------------------------------------------------------- */

struct tree {
    struct print_buffer *out;
    bool xml, first; /* first: in JSON, no comma comes before the next item */
};

static void tree_name(struct tree *tree, const char *before, const char *name, const char *after) {
    print_text(tree->out, before);
    print_text(tree->out, name);
    print_text(tree->out, after);
}

static void tree_comma(struct tree *tree) {
    if (!tree->first) print_text(tree->out, ",");
    tree->first = false;
}

static void tree_number(struct tree *tree, const char *name, uint64_t value) {
    if (tree->xml) {
        tree_name(tree, "<", name, ">");
        print_unsigned(tree->out, value);
        tree_name(tree, "</", name, ">");
    } else {
        tree_comma(tree);
        tree_name(tree, "\"", name, "\":");
        print_unsigned(tree->out, value);
    }
}

/* A path, without the characters that would need quotes. */
static void tree_path(struct tree *tree, const char *name, const char *path) {
    char plain[PROGRAM_MOST];
    size_t length = 0;
    for (; path[length] && length < sizeof plain - 1; length++) {
        bool letter = (unsigned)(path[length] | 0x20) - 'a' < 26, more = strchr("0123456789./_+-@:~ ", path[length]);
        plain[length] = letter || more ? path[length] : '?';
    }
    plain[length] = '\0';
    if (!tree->xml) tree_comma(tree);
    tree_name(tree, tree->xml ? "<" : "\"", name, tree->xml ? ">" : "\":\"");
    print_text(tree->out, plain);
    tree_name(tree, tree->xml ? "</" : "\"", tree->xml ? name : "", tree->xml ? ">" : "");
}

/* bracket: { of an object, [ of a list. Only in XML the members of a list have a name. */
static void tree_open(struct tree *tree, const char *name, const char *bracket) {
    if (tree->xml) {
        tree_name(tree, "<", name, ">");
        return;
    }
    tree_comma(tree);
    tree_name(tree, "\"", name, "\":");
    print_text(tree->out, bracket);
    tree->first = true;
}

static void tree_open_member(struct tree *tree, const char *name) {
    if (tree->xml) {
        tree_name(tree, "<", name, ">");
        return;
    }
    tree_comma(tree);
    print_text(tree->out, "{");
    tree->first = true;
}

static void tree_close(struct tree *tree, const char *name, const char *bracket) {
    if (tree->xml) tree_name(tree, "</", name, ">");
    else print_text(tree->out, bracket);
    tree->first = false;
}

static void tree_class(struct tree *tree, const struct classes *classes, unsigned number) {
    tree_open_member(tree, "class");
    if (classes->of_slabs != NULL) {
        const struct slab_class_statistics *class = &classes->of_slabs[number];
        tree_number(tree, "size", class->size);
        tree_number(tree, "slabs", class->slabs);
        tree_number(tree, "objects", class->objects);
        tree_number(tree, "capacity", class->capacity);
    } else {
        tree_number(tree, "granules", classes->of_ranges->classes[number].granules);
        tree_number(tree, "mapped_ranges", classes->of_ranges->classes[number].mapped_ranges);
        tree_number(tree, "unmapped_ranges", classes->of_ranges->classes[number].unmapped_ranges);
    }
    tree_close(tree, "class", "}");
}

static void tree_fields(struct tree *tree, const struct statistics *statistics, unsigned tier) {
    for (const struct field *field = fields; field < fields + FIELDS; field++)
        if (field->tier == tier) tree_number(tree, field->name, value_of(statistics, field));
}

static void print_tree(struct tree *tree, const struct statistics *statistics) {
    tree_path(tree, "program", platform_program());
    tree_fields(tree, statistics, PART_PROCESS);
    tree_number(tree, "in_objects", statistics->objects + statistics->huge.bytes);
    tree_number(tree, "system_calls", statistics->system_calls);
    for (unsigned tier = 0; tier < TIERS; tier++) {
        struct classes classes = classes_of(statistics, tier);
        tree_open(tree, tier_texts[tier].name, "{");
        tree_fields(tree, statistics, tier);
        if (classes.count > 0) {
            tree_open(tree, "classes", "[");
            for (unsigned i = 0; i < classes.count; i++) tree_class(tree, &classes, i);
            tree_close(tree, "classes", "]");
        }
        tree_close(tree, tier_texts[tier].name, "}");
    }
}

void statistics_print_json(struct print_buffer *out, const struct statistics *statistics) {
    struct tree tree = {.out = out, .first = false};
    print_text(out, "{\"version\":\"" JW_VERSION "\"");
    print_tree(&tree, statistics);
    print_text(out, "}\n");
}

void statistics_print_xml(struct print_buffer *out, const struct statistics *statistics) {
    struct tree tree = {.out = out, .xml = true};
    print_text(out, "<malloc version=\"jwmalloc-" JW_VERSION "\">");
    print_tree(&tree, statistics);
    print_text(out, "</malloc>\n");
}

/* --- At exit ---------------------------------------------------------------------------------------------------- */

static void write_statistics(void *cookie, const char *text, size_t length) {
    (void)cookie;
    platform_write_report(text, length);
}

CALLED_AT_EXIT void print_at_exit(void) {
    if (option(&options.stats) != STATS_EXIT) return;
    char data[1024];
    struct print_buffer out = {.data = data, .size = sizeof data, .sink = write_statistics};
    struct statistics statistics;
    statistics_gather_report(&statistics);
    if (option(&options.stats_format) == STATS_JSON) statistics_print_json(&out, &statistics);
    else statistics_print_text(&out, &statistics);
    print_flush(&out);
}
