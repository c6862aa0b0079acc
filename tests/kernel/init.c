/* init.c - the first process of a kernel that is booted for tests: runs what /tests lists, prints results, ends it all.
 *
 * A line of /tests is one word and the rest of the line:  test NAME, seconds N, env NAME=VALUE, arg WORD, run -
 * For each test it prints "RESULT NAME STATUS MILLISECONDS", after the output of one that has failed. STATUS is the
 * exit status, 128 + a signal's number, or "late". tools/jw/kernel.py writes the list and reads the results. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 64, LATE = -1, SKIPPED = 77 };

struct test {
    char name[128], *arguments[WORDS + 1], *variables[WORDS + 1];
    int argument_count, variable_count, seconds;
};

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void test_starts(const struct test *test) {
    int output = open("/tmp/output", O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    setsid();
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(output, 1);
    dup2(output, 2);
    (void)!chdir("/tmp");
    for (int i = 0; i < test->variable_count; i++) putenv(test->variables[i]);
    execv(test->arguments[0], test->arguments);
    perror(test->arguments[0]);
    _exit(126);
}

/* The test's status. Other processes that end are orphans of a test. */
static int test_status(pid_t child, int64_t deadline) {
    for (;;) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended == child) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (milliseconds() > deadline) {
            kill(-1, SIGKILL); /* all but this process */
            while (waitpid(-1, NULL, 0) > 0) continue;
            return LATE;
        }
        if (ended <= 0) usleep(5000);
    }
}

static void show_output(void) {
    char line[512];
    FILE *file = fopen("/tmp/output", "r");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) fputs(line, stdout);
    fclose(file);
}

static void test_run(struct test *test) {
    int64_t start = milliseconds();
    pid_t child = fork();
    if (child == 0) test_starts(test);
    int status = test_status(child, start + test->seconds * 1000LL);
    bool shows = status != SKIPPED && (status != 0 || strncmp(test->name, "measure", 7) == 0);
    if (shows) show_output();
    int64_t took = milliseconds() - start;
    if (status == LATE) printf("\nRESULT %s late %lld\n", test->name, (long long)took);
    else printf("\nRESULT %s %d %lld\n", test->name, status, (long long)took);
    fflush(stdout);
    for (int i = 0; i < test->argument_count; i++) free(test->arguments[i]);
    for (int i = 0; i < test->variable_count; i++) free(test->variables[i]);
    memset(test, 0, sizeof *test);
}

static void system_starts(void) {
    static char *const places[][2] = {
        {"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}, {"tmpfs", "/dev/shm"}};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        mkdir(places[i][1], 0755);
        mount(places[i][0], places[i][1], places[i][0], 0, NULL);
    }
    (void)!symlink("/proc/self/fd", "/dev/fd");
    int console = open("/dev/console", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(console, i);
    struct rlimit many = {4096, 4096};
    setrlimit(RLIMIT_NOFILE, &many);
}

static void word_added(char **words, int *count, const char *word) {
    if (*count < WORDS) words[(*count)++] = strdup(word);
}

int main(void) {
    system_starts();
    printf("PAGES of %ld bytes\n", sysconf(_SC_PAGESIZE));
    struct test test = {0};
    char line[4096];
    FILE *list = fopen("/tests", "r");
    while (list != NULL && fgets(line, sizeof line, list) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = strchr(line, ' ');
        if (rest == NULL) continue;
        *rest++ = '\0';
        if (strcmp(line, "test") == 0) snprintf(test.name, sizeof test.name, "%s", rest);
        if (strcmp(line, "seconds") == 0) test.seconds = atoi(rest);
        if (strcmp(line, "arg") == 0) word_added(test.arguments, &test.argument_count, rest);
        if (strcmp(line, "env") == 0) word_added(test.variables, &test.variable_count, rest);
        if (strcmp(line, "run") == 0) test_run(&test);
    }
    puts("ALL TESTS DONE");
    fflush(stdout);
    sync();
    reboot(RB_POWER_OFF);
    return 1;
}
