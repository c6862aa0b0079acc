/* options.c - reads, checks and prints the options (options.h). All that one option needs is a row of
 * options.def, except for stats_file, which is a path. */
#include "config/options.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "platform/platform.h"

enum kind { NUMBER, SIZE, BOOL, CHOICE }; /* up to SIZE: numbers; from BOOL on: one of some names */

/* All texts, one behind the other: a table of pointers would cost a relocation each. */
struct option_texts {
#define OPTION(kind, name, initial, least, most, unit, meaning)                                                        \
    char name[sizeof #name], name##_unit[sizeof unit], name##_meaning[sizeof meaning]; /* NOLINT: members */
#include "config/options.def"
#undef OPTION
};
static const struct option_texts option_texts = {
#define OPTION(kind, name, initial, least, most, unit, meaning) #name, unit, meaning,
#include "config/options.def"
#undef OPTION
};

struct row {
    uint64_t initial, least, most;
    uint16_t name_at, unit_at, meaning_at; /* in option_texts */
    uint8_t value_at, kind;                /* in struct options; enum kind */
};

#define CUT(value) ((value) < SIZE_MAX ? (size_t)(value) : SIZE_MAX)

#define OPTION(kind, name, initial, least, most, unit, meaning) .name = CUT((uint64_t)(initial)),
struct options options = {
#include "config/options.def"
};
const struct options default_options = {
#include "config/options.def"
};
#undef OPTION
#define OPTION(kind, name, initial, least, most, unit, meaning) .name = CUT((uint64_t)(least)),
const struct options least_options = {
#include "config/options.def"
};
#undef OPTION
#define OPTION(kind, name, initial, least, most, unit, meaning) .name = CUT((uint64_t)(most)),
const struct options most_options = {
#include "config/options.def"
};
#undef OPTION

static const struct row rows[] = {
#define OPTION(kind, name, initial, least, most, unit, meaning)                                                        \
    {initial,                                                                                                          \
     least,                                                                                                            \
     most,                                                                                                             \
     offsetof(struct option_texts, name),                                                                              \
     offsetof(struct option_texts, name##_unit),                                                                       \
     offsetof(struct option_texts, name##_meaning),                                                                    \
     offsetof(struct options, name),                                                                                   \
     kind},
#include "config/options.def"
#undef OPTION
};

enum { ROWS = sizeof rows / sizeof *rows, LINE = 512, FOREIGN_MAX = 64, FILE_MAX = 4096 };

static const char *text_of(unsigned place) {
    return (const char *)&option_texts + place;
}

/* The names that an option of these kinds may have, as "a|b|c". */
static const char *choices_of(const struct row *row) {
    return row->kind == BOOL ? "false|true" : text_of(row->unit_at);
}

static _Atomic(size_t) *value_in_force(const struct row *row) {
    return (_Atomic(size_t) *)((char *)&options + row->value_at);
}

/* A program may define this symbol; otherwise the symbol's address is NULL. */
extern const char *jw_malloc_conf __attribute__((weak, visibility("default")));

static const char path_name[] = "stats_file";
char options_stats_file[OPTIONS_PATH];
_Static_assert(OPTIONS_PATH == 256, "report_bad_item() says how long a path may be");

/* Part of a source's text, without an end mark. */
struct span {
    const char *text;
    size_t length;
};

static wide_bool span_is(struct span span, const char *word) {
    return strlen(word) == span.length && memcmp(span.text, word, span.length) == 0;
}

/* The number of the choice in "a|b|c", or -1. */
static int find_choice(const char *choices, struct span span) {
    for (int number = 0;; number++) {
        size_t width = strcspn(choices, "|");
        if (width == span.length && memcmp(choices, span.text, width) == 0) return number;
        choices += width;
        if (*choices++ == '\0') return -1;
    }
}

static bool parse_number(struct span span, bool suffixes, uint64_t *value) {
    const char *text = span.text;
    size_t length = span.length;
    unsigned shift = 0;
    if (suffixes && length > 1) {
        static const char letters[] = "KMGT";
        const char *letter = strchr(letters, text[length - 1] & ~('a' - 'A'));
        if (letter != NULL && *letter != '\0') {
            shift = 10 * (unsigned)(letter - letters + 1);
            length--;
        }
    }
    if (length == 0) return false;
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        if (__builtin_mul_overflow(*value, 10, value)) return false;
        if (__builtin_add_overflow(*value, (unsigned)(text[i] - '0'), value)) return false;
    }
    if (*value > UINT64_MAX >> shift) return false;
    *value <<= shift;
    return true;
}

static bool parse_value(const struct row *row, struct span span, uint64_t *value) {
    if (row->kind <= SIZE)
        return parse_number(span, row->kind == SIZE, value) && *value >= row->least && *value <= row->most;
    int choice = find_choice(choices_of(row), span);
    *value = (uint64_t)choice;
    return choice >= 0;
}

/* Prints a value: a choice by its name, a size with the largest suffix that leaves a whole number. */
static void print_value(struct print_buffer *out, const struct row *row, uint64_t value) {
    if (row->kind >= BOOL) {
        const char *name = choices_of(row);
        for (; value > 0; value--) name += strcspn(name, "|") + 1;
        print_bytes(out, name, strcspn(name, "|"));
    } else {
        unsigned step = 0;
        for (; row->kind == SIZE && step < 4 && value != 0 && value % 1024 == 0; step++) value /= 1024;
        print_unsigned(out, value);
        if (step > 0) print_bytes(out, &"KMGT"[step - 1], 1);
    }
}

static void print_range(struct print_buffer *out, const struct row *row) {
    if (row->kind >= BOOL) {
        print_text(out, row->kind == BOOL ? "true|false" : text_of(row->unit_at));
        return;
    }
    print_value(out, row, row->least);
    print_text(out, "..");
    print_value(out, row, row->most);
}

static void write_options(void *cookie, const char *text, size_t length) {
    (void)cookie;
    platform_write(text, length);
}

static COLD void report_bad_item(const char *source, const struct row *row, struct span name, struct span value) {
    char data[LINE];
    struct print_buffer line = {.data = data, .size = sizeof data, .sink = write_options}, *out = &line;
    bool path = span_is(name, path_name);
    out = print_text(print_text(out, "jwmalloc: "), source);
    out = print_text(out, row == NULL && !path ? ": unknown option " : ": bad value in ");
    out = print_foreign(out, name.text, name.length, FOREIGN_MAX);
    out = print_foreign(print_text(out, ":"), value.text, value.length, FOREIGN_MAX);
    if (path) {
        out = print_text(out, ", expected a path of at most 255 bytes; ignored");
    } else if (row == NULL) {
        out = print_text(out, ", ignored; the options are ");
        for (unsigned i = 0; i < ROWS; i++) out = print_text(print_text(out, text_of(rows[i].name_at)), ", ");
        out = print_text(out, path_name);
    } else {
        out = print_text(out, ", expected ");
        print_range(out, row);
        if (row->kind <= SIZE) out = print_text(print_text(out, " "), text_of(row->unit_at));
        out = print_text(out, "; it stays ");
        print_value(out, row, *value_in_force(row));
    }
    print_flush(print_text(out, "\n"));
}

/* A set of options with one name; items behind it may change each. docs/options.md says what the set costs. */
static ALWAYS_INLINE void choose_low_memory(void) {
    static const struct {
        uint8_t value_at;
        uint32_t value;
    } chosen[] = {
        {offsetof(struct options, reclaim_interval), 200}, {offsetof(struct options, cache_min), 512 << 10},
        {offsetof(struct options, cache_percent), 10},     {offsetof(struct options, pool_min), 2},
        {offsetof(struct options, pool_percent), 2},       {offsetof(struct options, pool_total), 256 << 10},
    };
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        *(_Atomic(size_t) *)((char *)&options + chosen[i].value_at) = chosen[i].value;
}

static void apply_item(const char *source, struct span item) {
    struct span name = {item.text, 0};
    while (name.length < item.length && item.text[name.length] != ':' && item.text[name.length] != '=') name.length++;
    size_t before_value = name.length < item.length ? name.length + 1 : name.length;
    struct span value = {item.text + before_value, item.length - before_value};
    if (span_is(name, path_name) && value.length > 0 && value.length < sizeof options_stats_file) {
        memcpy(options_stats_file, value.text, value.length);
        options_stats_file[value.length] = '\0';
        return;
    }
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        if (!span_is(name, text_of(row->name_at))) continue;
        uint64_t number = 0;
        if (!parse_value(row, value, &number)) {
            report_bad_item(source, row, name, value);
            return;
        }
        *value_in_force(row) = CUT(number);
        if (number != 0 && row->value_at == offsetof(struct options, low_memory)) choose_low_memory();
        return;
    }
    report_bad_item(source, NULL, name, value);
}

/* Items end at a comma or white space; from a # on, the rest of the line is a comment. */
void options_apply(const char *source, const char *text, size_t length) {
    const char *end = text + length;
    while (text < end) {
        if (*text == '#') {
            while (text < end && *text != '\n') text++;
        } else if (strchr(", \t\r\n", *text) != NULL) {
            text++;
        } else {
            const char *item = text;
            while (text < end && strchr(", \t\r\n#", *text) == NULL) text++;
            apply_item(source, (struct span){item, (size_t)(text - item)});
        }
    }
}

static void read_file(void) {
#ifdef JW_OPTIONS_FILE
    static char text[FILE_MAX];
    options_apply(JW_OPTIONS_FILE, text, platform_read_file(JW_OPTIONS_FILE, text, sizeof text));
#endif
}

static void read_environment(char **environment) {
    static const char name[] = "JWMALLOC_CONF";
    for (char **entry = environment; *entry != NULL; entry++)
        if (strncmp(*entry, name, sizeof name - 1) == 0 && (*entry)[sizeof name - 1] == '=') {
            const char *text = *entry + sizeof name;
            options_apply(name, text, strlen(text));
            return;
        }
}

static COLD void print_in_force(void) {
    char data[LINE];
    struct print_buffer out = {.data = data, .size = sizeof data, .sink = write_options};
    options_print_values(print_text(&out, "jwmalloc: options in force: "));
    print_flush(print_text(&out, "\n"));
}

bool options_read(void) {
    static _Atomic(uint32_t) reading; /* not a byte, which RISC-V cannot exchange */
    char **environment = platform_environment();
    if (environment == NULL || atomic_load_explicit(&reading, memory_order_relaxed)) return false;
    if (atomic_exchange_explicit(&reading, true, memory_order_relaxed)) return false;
    read_file();
    if (&jw_malloc_conf != NULL && jw_malloc_conf != NULL)
        options_apply("jw_malloc_conf", jw_malloc_conf, strlen(jw_malloc_conf));
    if (!platform_is_privileged()) read_environment(environment);
    if (!options.mapping_names) platform_end_names();
    if (options.confirm) print_in_force();
    if (options.stats == STATS_EXIT) platform_keep_output(options_stats_file[0] ? options_stats_file : NULL);
    return true;
}

bool options_find(const char *name, size_t *number) {
    for (*number = 0; *number < ROWS; ++*number)
        if (strcmp(text_of(rows[*number].name_at), name) == 0) return true;
    return false;
}

int options_exchange(size_t number, size_t *value, const size_t *wanted) {
    if (number >= ROWS) return ENOENT;
    const struct row *row = &rows[number];
    *value = option_at(value_in_force(row));
    if (wanted == NULL) return 0;
    if (row->kind >= BOOL || row->value_at >= offsetof(struct options, stats)) return EPERM;
    if (*wanted < row->least || *wanted > row->most) return EINVAL;
    atomic_store_explicit(value_in_force(row), *wanted, memory_order_relaxed);
    return 0;
}

void options_print(struct print_buffer *out) {
    enum { DEFAULT_AT = 18, RANGE_AT = 28, UNIT_AT = 45, MEANING_AT = 71 };
    print_text(out, "name              default   range            unit                      meaning\n");
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        print_text(out, text_of(row->name_at));
        print_to_column(out, DEFAULT_AT);
        print_value(out, row, row->initial);
        print_to_column(out, RANGE_AT);
        print_range(out, row);
        print_to_column(out, UNIT_AT);
        print_text(out, row->kind >= BOOL ? "-" : text_of(row->unit_at));
        print_to_column(out, MEANING_AT);
        print_text(out, text_of(row->meaning_at));
        print_text(out, "\n");
    }
    print_text(out, "stats_file        -         a path           -                         "
                    "where statistics at exit go, behind what is there; opened at start\n");
}

void options_print_values(struct print_buffer *out) {
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        if (row != rows) out = print_text(out, ",");
        print_value(print_text(print_text(out, text_of(row->name_at)), ":"), row, *value_in_force(row));
    }
    if (options_stats_file[0]) print_text(print_text(out, ",stats_file:"), options_stats_file);
}
