/* conformance.c - runs the cases, each in its own process, two at a time.
 *
 *   conformance             all cases; prints those that fail, and how many
 *   conformance TEXT        those whose name contains it
 *   conformance --list
 */
#include "cases.h"

#include <spawn.h>
#include <stdarg.h>
#include <time.h>

enum { CASES = 2048, AT_ONCE = 2, SECONDS_EACH = 20 };

static struct conformance_case {
    char name[64];
    case_function *run;
    size_t a, b;
} cases[CASES];
static size_t count;

static struct running {
    pid_t process;
    size_t number;
    time_t start;
} running[AT_ONCE];
static size_t passed, failed, skipped;

__attribute__((format(printf, 3, 4))) static void name_case(char *name, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, size, format, arguments);
    va_end(arguments);
}

void add(const char *name, case_function *run, size_t a, size_t b) {
    CHECK(count < CASES);
    struct conformance_case *added = &cases[count++];
    *added = (struct conformance_case){"", run, a, b};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    name_case(added->name, sizeof added->name, name, a, b);
#pragma GCC diagnostic pop
}

static void add_all(void) {
    add_sizes();
    add_limits();
    add_errno();
    add_insight();
    add_threads();
    add_forks();
    add_limits_of_process();
    add_surroundings();
    add_programs();
    add_libc();
    add_operators();
}

static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void start(struct running *slot, size_t number) {
    char text[16];
    snprintf(text, sizeof text, "%zu", number);
    *slot = (struct running){0, number, seconds()};
    slot->process = vfork();
    if (slot->process == 0) {
        setpgid(0, 0);
        execl("/proc/self/exe", "conformance", "--case", text, (char *)NULL);
        _exit(1);
    }
    CHECK(slot->process > 0);
}

static void account(struct running *slot, int status, bool late) {
    const char *name = cases[slot->number].name;
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) skipped++;
    else if (!late && status == 0) passed++;
    else {
        failed++;
        printf("FAILED %s: %s %d\n", name,
               late                  ? "hangs,"
               : WIFSIGNALED(status) ? "signal"
                                     : "exit",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    slot->process = 0;
}

/* Waits until a slot is free. */
static struct running *await_slot(bool all) {
    for (;;) {
        size_t busy = 0;
        for (size_t i = 0; i < AT_ONCE; i++) {
            struct running *slot = &running[i];
            int status;
            if (slot->process == 0 && !all) return slot;
            if (slot->process == 0) continue;
            bool late = seconds() > slot->start + SECONDS_EACH;
            if (late) kill(-slot->process, SIGKILL);
            if (waitpid(slot->process, &status, late ? 0 : WNOHANG) == slot->process) {
                kill(-slot->process, SIGKILL); /* what it left behind */
                account(slot, status, late);
                if (!all) return slot;
                continue;
            }
            busy++;
        }
        if (busy == 0) return NULL;
        usleep(300); /* a bounded poll: each case has its seconds of real time */
    }
}

int main(int argc, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    add_all();
    if (argc == 3 && strcmp(arguments[1], "--case") == 0) {
        const struct conformance_case *wanted = &cases[atoi(arguments[2])];
        wanted->run(wanted->a, wanted->b);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (argc == 2 && strcmp(arguments[1], "--list") == 0) puts(cases[i].name);
        else if (argc < 2 || strstr(cases[i].name, arguments[1]) != NULL) start(await_slot(false), i);
    }
    await_slot(true);
    printf("%zu cases pass, %zu fail, %zu are skipped\n", passed, failed, skipped);
    return failed != 0;
}
