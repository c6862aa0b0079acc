/* replay.c FILE... - gives inputs to a fuzz target without libFuzzer, so with any compiler and on any machine.
 *
 * A .txt file holds one input a line: printable bytes stand for themselves, others and the backslash are \XX, a
 * backslash and two hexadecimal digits. Any other file is one input as it is. */
#include "fuzz.h"

#include <signal.h>

static const char *path;
static unsigned long number;

static void tell_where(int signal_number) {
    dprintf(STDERR_FILENO, "%s:%lu: this input ends in signal %d\n", path, number, signal_number);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Each input in memory of exactly its size, so that sanitizers see what lies outside. */
static void try(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    EXPECT(copy != NULL);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static uint8_t digit(char character) {
    const char *digits = "0123456789abcdef", *found = strchr(digits, character);
    EXPECT(character != '\0' && found != NULL);
    return (uint8_t)(found - digits);
}

/* In place; the text's own end mark is no part of it. */
static size_t unpack(char *line) {
    uint8_t *to = (uint8_t *)line;
    for (const char *from = line; *from != '\0' && *from != '\n'; from++, to++) {
        *to = (uint8_t)*from;
        if (*from != '\\') continue;
        *to = (uint8_t)(digit(from[1]) << 4 | digit(from[2]));
        from += 2;
    }
    return (size_t)(to - (uint8_t *)line);
}

static unsigned long replay_lines(FILE *file) {
    char *line = NULL;
    size_t room = 0;
    for (number = 0; getline(&line, &room, file) > 0;) {
        number++;
        try((uint8_t *)line, unpack(line));
    }
    free(line);
    return number;
}

static unsigned long replay_whole(FILE *file) {
    enum { MOST = 1 << 20 };
    static uint8_t bytes[MOST];
    number = 1;
    try(bytes, fread(bytes, 1, MOST, file));
    return 1;
}

int main(int count, char **arguments) {
    unsigned long inputs = 0;
    signal(SIGABRT, tell_where);
    for (int i = 1; i < count; i++) {
        path = arguments[i];
        const char *ending = strrchr(path, '.');
        FILE *file = fopen(path, "r");
        if (file == NULL) {
            dprintf(STDERR_FILENO, "%s: cannot be read\n", path);
            return 2;
        }
        inputs += ending != NULL && strcmp(ending, ".txt") == 0 ? replay_lines(file) : replay_whole(file);
        fclose(file);
    }
    printf("%lu inputs replayed\n", inputs);
    return inputs > 0 ? 0 : 1;
}
