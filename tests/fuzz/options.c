/* options.c - any text as options: config/options.c against a second parser, written from options.h and options.def.
 *
 * Both must end with the same values, and the number of complaints, one line each, must be that of the bad items. */
#include "fuzz.h"

#include <errno.h>

#include "config/options.h"
#include "platform/platform.h"

/* --- the platform as far as options.c needs it: it hears the messages */
enum { HEARD_MAX = 1 << 20 };
static char heard[HEARD_MAX];
static size_t heard_length;

void platform_write(const char *text, size_t length) {
    EXPECT(length <= HEARD_MAX - heard_length);
    memcpy(heard + heard_length, text, length);
    heard_length += length;
}

/* None, so that the program's own start reads nothing. */
char **platform_environment(void) {
    return NULL;
}

void platform_end_names(void) {
}

bool platform_is_privileged(void) {
    return true;
}

void platform_abort_message(const char *text, size_t length) {
    (void)text;
    (void)length;
}

void platform_keep_output(const char *report) {
    (void)report;
}

/* --- the second parser */
enum kind { NUMBER, SIZE, BOOL, CHOICE };
static const struct row {
    enum kind kind;
    const char *name, *choices;
    uint64_t least, most;
} rows[] = {
#define OPTION(kind, name, initial, least, most, unit, meaning) {kind, #name, unit, least, most},
#include "config/options.def"
#undef OPTION
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool number_of_choice(const char *choices, const char *value, uint64_t *number) {
    char all[128], *rest = all;
    snprintf(all, sizeof all, "%s", choices);
    for (*number = 0; rest != NULL; ++*number)
        if (strcmp(strsep(&rest, "|"), value) == 0) return true;
    return false;
}

static bool number_of_digits(char *value, bool size, uint64_t *number) {
    static const char letters[] = "KkMmGgTt";
    size_t length = strlen(value), shift = 0;
    const char *letter = size && length > 1 ? strchr(letters, value[length - 1]) : NULL;
    if (letter != NULL) {
        shift = ((size_t)(letter - letters) / 2 + 1) * 10;
        value[length - 1] = '\0';
    }
    if (value[0] == '\0' || strspn(value, "0123456789") != strlen(value)) return false;
    errno = 0;
    *number = strtoull(value, NULL, 10);
    if (errno != 0 || *number << shift >> shift != *number) return false;
    *number <<= shift;
    return true;
}

static bool is_good(const struct row *row, char *value, uint64_t *number) {
    switch (row->kind) {
    case BOOL: return number_of_choice("false|true", value, number);
    case CHOICE: return number_of_choice(row->choices, value, number);
    default: return number_of_digits(value, row->kind == SIZE, number) && *number >= row->least && *number <= row->most;
    }
}

/* The item is taken apart. False: it costs a line. */
static bool expect_item(char *item, uint64_t *values) {
    char *value = item, nothing[] = "";
    const char *name = strsep(&value, ":=");
    uint64_t number;
    if (strcmp(name, "stats_file") == 0) return value != NULL && value[0] != '\0' && strlen(value) < OPTIONS_PATH;
    for (unsigned i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        if (!is_good(&rows[i], value != NULL ? value : nothing, &number)) return false;
        values[i] = number < SIZE_MAX ? number : SIZE_MAX;
        return true;
    }
    return false;
}

/* A null byte separates as white space does. How many complaints there must be. */
static unsigned expect_values(const uint8_t *bytes, size_t size, uint64_t *values) {
    char *text = calloc(size + 1, 1);
    unsigned bad = 0;
    bool comment = false;
    for (size_t i = 0; i < size; i++) {
        comment = bytes[i] != '\n' && (comment || bytes[i] == '#');
        text[i] = (char)(comment || bytes[i] == '\0' ? ' ' : bytes[i]);
    }
    for (char *rest = text, *item; (item = strsep(&rest, ", \t\r\n")) != NULL;)
        if (*item != '\0') bad += !expect_item(item, values);
    free(text);
    return bad;
}

/* --- comparing */
static void set_values(const struct options *from) {
#define OPTION(kind, name, initial, least, most, unit, meaning) options.name = from->name;
#include "config/options.def"
#undef OPTION
}

static void get_values(uint64_t *values) {
    unsigned i = 0;
#define OPTION(kind, name, initial, least, most, unit, meaning) values[i++] = options.name;
#include "config/options.def"
#undef OPTION
}

/* Lines of printable ASCII that name their speaker. */
static unsigned complaints(void) {
    unsigned lines = 0;
    EXPECT(heard_length == 0 || heard[heard_length - 1] == '\n');
    for (size_t at = 0; at < heard_length; at++, lines++) {
        EXPECT(heard_length - at > 16 && memcmp(heard + at, "jwmalloc: fuzz: ", 16) == 0);
        for (; heard[at] != '\n'; at++) EXPECT(heard[at] >= ' ' && heard[at] <= '~');
    }
    return lines;
}

/* Printed values read back as they were, also where the buffer is short. */
static void expect_round_trip(const uint64_t *values) {
    uint64_t again[ROWS];
    char text[1024];
    struct print_buffer all = {.data = text, .size = sizeof text}, some = {.data = text, .size = 16};
    options_print_values(&some);
    EXPECT(some.length <= 16);
    options_print_values(&all);
    set_values(&default_options);
    heard_length = 0;
    options_apply("fuzz", text, all.length);
    get_values(again);
    EXPECT(heard_length == 0 && memcmp(values, again, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    uint64_t expected[ROWS], values[ROWS];
    if (size > 4096) return 0;
    set_values(&default_options);
    get_values(expected);
    heard_length = 0;
    unsigned bad = expect_values(bytes, size, expected);
    options_apply("fuzz", (const char *)bytes, size);
    get_values(values);
    if (fuzz_shows()) printf("%.*s", (int)heard_length, heard);
    EXPECT(memcmp(values, expected, sizeof values) == 0);
    EXPECT(complaints() == bad);
    expect_round_trip(values);
    return 0;
}
