/* tagged_misuses.c - calls with a pointer whose tag is not the memory's: each ends its process with a line. Where there
 * are no tags, only those do that the plain library sees as well. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"
#include "jwmalloc.h"
#include "secure/tagged.h"

enum { LARGE = 100000 };

/* The program's pointer to an object that was freed, whose place has another object by now. */
static char *outlived(size_t size) {
    for (;;) {
        char *before = malloc(size);
        free(before);
        char *now = malloc(size);
        if (place_of(now) == place_of(before)) return before;
    }
}

static void free_outlived(void) {
    free(outlived(64));
}
static void free_outlived_mid(void) {
    free(outlived(5000));
}
static void free_sized_outlived(void) {
    jw_free_sized(outlived(64), 64);
}
static void free_other_tag(void) {
    free(malloc(64) + ((uintptr_t)1 << 60)); /* above the tag */
}
static void free_no_tag(void) {
    free((void *)place_of(malloc(64)));
}
static void free_no_tag_mid(void) {
    free((void *)place_of(malloc(3000)));
}
static void free_large_with_tag(void) {
    free((char *)malloc(LARGE) + ((uintptr_t)3 << 56));
}
static void size_of_outlived(void) {
    malloc_usable_size(outlived(200));
}
static void realloc_outlived(void) {
    realloc(outlived(200), 300);
}
static void realloc_outlived_mid(void) {
    realloc(outlived(5000), 300);
}
static void free_twice(void) {
    char *object = malloc(64);
    free(object);
    free(object);
}
static void free_twice_mid(void) {
    char *object = malloc(5000);
    free(object);
    free(object);
}
static void free_twice_large(void) {
    char *object = malloc(LARGE);
    free(object);
    free(object);
}
static void free_inside(void) {
    free((char *)malloc(160) + 16);
}
static void free_wrong_size(void) {
    jw_free_sized(malloc(64), 500);
}
static void size_of_freed(void) {
    char *object = malloc(64);
    free(object);
    malloc_usable_size(object);
}

static const struct {
    const char *name, *line;
    void (*run)(void);
    bool always;
} cases[] = {
    {"free_outlived", "double free", free_outlived, false},
    {"free_outlived_mid", "double free", free_outlived_mid, false},
    {"free_sized_outlived", "double free", free_sized_outlived, false},
    {"free_no_tag", "double free", free_no_tag, false},
    {"free_no_tag_mid", "double free", free_no_tag_mid, false},
    {"size_of_outlived", "invalid pointer", size_of_outlived, false},
    {"realloc_outlived", "invalid pointer", realloc_outlived, false},
    {"realloc_outlived_mid", "invalid pointer", realloc_outlived_mid, false},
    {"free_other_tag", "invalid free", free_other_tag, true},
    {"free_large_with_tag", "invalid free", free_large_with_tag, true},
    {"free_twice", "double free", free_twice, true},
    {"free_twice_mid", "double free", free_twice_mid, true},
    {"free_twice_large", "double free", free_twice_large, true},
    {"free_inside", "invalid free", free_inside, true},
    {"free_wrong_size", "wrong size", free_wrong_size, true},
    {"size_of_freed", "invalid pointer", size_of_freed, true},
};

static void see_misuse(const char *name, const char *line, void (*run)(void), bool seen) {
    int status, ends[2];
    char said[256], expected[64];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    said[length > 0 ? length : 0] = '\0';
    CHECK(waitpid(child, &status, 0) == child);
    snprintf(expected, sizeof expected, "jwmalloc: %s: address 0x", line);
    bool right = seen ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, expected) == said
                      : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    printf("%-24s %s: status %#x %s\n", name, right ? "ok" : "WRONG", (unsigned)status, right ? "" : said);
    fflush(stdout);
    CHECK(right);
}

void see_misuses(void) {
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        see_misuse(cases[i].name, cases[i].line, cases[i].run, tags_wanted || cases[i].always);
}
