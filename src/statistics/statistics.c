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

struct field {
    char name[17]; /* with _ between words, which the text shows as spaces */
    bool bytes;
    uint16_t offset;
};

#define FIELD(tier, name, bytes)                                                                                       \
    { #name, bytes, offsetof(struct tier##_statistics, name) }

static const struct field backend_fields[] = {
    FIELD(backend, in_use, true),         FIELD(backend, cached_mapped, true), FIELD(backend, cached_unmapped, true),
    FIELD(backend, given_back, true),     FIELD(backend, metadata, true),      FIELD(backend, roots, false),
    FIELD(backend, rounds, false),        FIELD(backend, deferred, false),     FIELD(backend, rolled_back, false),
    FIELD(backend, sync_reclaims, false),
};
static const struct field midend_fields[] = {FIELD(midend, in_use, true), FIELD(midend, reserved, true)};
static const struct field frontend_fields[] = {
    FIELD(frontend, in_use, true),        FIELD(frontend, reserved, true), FIELD(frontend, given_back, true),
    FIELD(frontend, metadata, true),      FIELD(frontend, heaps, false),   FIELD(frontend, abandoned_heaps, false),
    FIELD(frontend, pooled_slabs, false),
};
static const struct field process_fields[] = {
    FIELD(process, pid, false), FIELD(process, time, false),    FIELD(process, resident, true),
    FIELD(process, peak, true), FIELD(process, objects, false),
};
static const struct field huge_fields[] = {FIELD(huge, bytes, true), FIELD(huge, mapped_total, true),
                                           FIELD(huge, mappings, false)};

/* A tier, in the order of the report. It has at most one of the two tables of classes. */
struct tier {
    const char *name, *about;
    const void *values;
    const struct field *fields;
    unsigned field_count, class_count;
    const struct slab_class_statistics *slab_classes;
    const struct backend_statistics *range_classes;
};

enum { TIERS = 4 };

#define COUNT(array) (unsigned)(sizeof(array) / sizeof *(array))

static void list_tiers(const struct statistics *s, struct tier tiers[TIERS]) {
    tiers[0] = (struct tier){.name = "frontend",
                             .about = "small objects in slabs of one granule, per thread",
                             .values = &s->frontend,
                             .fields = frontend_fields,
                             .field_count = COUNT(frontend_fields),
                             .class_count = s->frontend.class_count,
                             .slab_classes = s->frontend.classes};
    tiers[1] = (struct tier){.name = "midend",
                             .about = "middle-sized objects in slabs of several granules",
                             .values = &s->midend,
                             .fields = midend_fields,
                             .field_count = COUNT(midend_fields),
                             .class_count = s->midend.class_count,
                             .slab_classes = s->midend.classes};
    tiers[2] = (struct tier){.name = "backend",
                             .about = "ranges of granules: large objects, and both tiers' slabs",
                             .values = &s->backend,
                             .fields = backend_fields,
                             .field_count = COUNT(backend_fields),
                             .class_count = s->backend.class_count,
                             .range_classes = &s->backend};
    tiers[3] = (struct tier){.name = "huge",
                             .about = "objects with a mapping of their own",
                             .values = &s->huge,
                             .fields = huge_fields,
                             .field_count = COUNT(huge_fields)};
}

static uint64_t value_of(const struct tier *tier, unsigned field) {
    return *(const uint64_t *)((const char *)tier->values + tier->fields[field].offset);
}

static uint64_t process_value(const struct statistics *statistics, const struct field *field) {
    return *(const uint64_t *)((const char *)&statistics->process + field->offset);
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

int statistics_find(const char *name, size_t *value) {
    struct statistics statistics;
    struct tier tiers[TIERS];
    statistics_gather(&statistics);
    list_tiers(&statistics, tiers);
    for (const struct tier *tier = tiers; tier < tiers + TIERS; tier++) {
        size_t length = strlen(tier->name);
        if (strncmp(name, tier->name, length) != 0 || name[length] != '.') continue;
        for (unsigned i = 0; i < tier->field_count; i++) {
            if (strcmp(name + length + 1, tier->fields[i].name) != 0) continue;
            *value = (size_t)value_of(tier, i);
            return 0;
        }
    }
    return ENOENT;
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
    struct tier tiers[TIERS];
    list_tiers(statistics, tiers);
    print_text(out, "jwmalloc " JW_VERSION " in ");
    print_foreign(out, platform_program(), strlen(platform_program()), PROGRAM_MOST);
    print_text(out, "\n");
    for (const struct field *field = process_fields; field < process_fields + COUNT(process_fields); field++)
        print_line(out, field->name, process_value(statistics, field), field->bytes ? " bytes" : "");
    print_line(out, "in_objects", statistics->objects + statistics->huge.bytes, " bytes");
    print_line(out, "system_calls", statistics->system_calls, "");
    for (const struct tier *tier = tiers; tier < tiers + TIERS; tier++) {
        print_text(out, tier->name);
        print_text(out, ": ");
        print_text(out, tier->about);
        print_text(out, "\n");
        for (unsigned i = 0; i < tier->field_count; i++)
            print_line(out, tier->fields[i].name, value_of(tier, i), tier->fields[i].bytes ? " bytes" : "");
        if (tier->slab_classes != NULL) print_slab_classes(out, tier->slab_classes, tier->class_count);
        if (tier->range_classes != NULL) print_range_classes(out, tier->range_classes);
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

static void tree_class(struct tree *tree, const struct tier *tier, unsigned number) {
    tree_open_member(tree, "class");
    if (tier->slab_classes != NULL) {
        const struct slab_class_statistics *class = &tier->slab_classes[number];
        tree_number(tree, "size", class->size);
        tree_number(tree, "slabs", class->slabs);
        tree_number(tree, "objects", class->objects);
        tree_number(tree, "capacity", class->capacity);
    } else {
        tree_number(tree, "granules", tier->range_classes->classes[number].granules);
        tree_number(tree, "mapped_ranges", tier->range_classes->classes[number].mapped_ranges);
        tree_number(tree, "unmapped_ranges", tier->range_classes->classes[number].unmapped_ranges);
    }
    tree_close(tree, "class", "}");
}

static void print_tree(struct tree *tree, const struct statistics *statistics) {
    struct tier tiers[TIERS];
    list_tiers(statistics, tiers);
    tree_path(tree, "program", platform_program());
    for (const struct field *field = process_fields; field < process_fields + COUNT(process_fields); field++)
        tree_number(tree, field->name, process_value(statistics, field));
    tree_number(tree, "in_objects", statistics->objects + statistics->huge.bytes);
    tree_number(tree, "system_calls", statistics->system_calls);
    for (const struct tier *tier = tiers; tier < tiers + TIERS; tier++) {
        tree_open(tree, tier->name, "{");
        for (unsigned i = 0; i < tier->field_count; i++) tree_number(tree, tier->fields[i].name, value_of(tier, i));
        if (tier->class_count > 0) {
            tree_open(tree, "classes", "[");
            for (unsigned i = 0; i < tier->class_count; i++) tree_class(tree, tier, i);
            tree_close(tree, "classes", "]");
        }
        tree_close(tree, tier->name, "}");
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
