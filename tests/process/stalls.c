/* stalls.c - with the option pressure, nothing stays cached while the system's tasks wait for memory (PSI). The program
 * runs in a namespace of its own, where /proc/pressure/memory is a file of the test. No control group is seen there, or
 * one whose own tasks do not wait.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "check.h"

enum { OBJECTS = 320, SIZE = 64 << 10, CALM_MB = 4, STALLED_MB = 2 };

static void *objects[OBJECTS];

/* Frees all of 20 MB but one object of 64, and looks before a round has come: the thread has none. */
static void use_and_free(bool stalled) {
    size_t before = proc_bytes("/proc/self/smaps_rollup", "Anonymous");
    for (int i = 0; i < OBJECTS; i++) memset(objects[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < OBJECTS; i++)
        if (i % 64 != 63) free(objects[i]);
    size_t after = proc_bytes("/proc/self/smaps_rollup", "Anonymous");
    size_t left = after > before ? (after - before) >> 10 : 0;
    printf("%s: %zu KB are left\n", stalled ? "stalled" : "calm", left);
    fflush(stdout);
    CHECK(stalled ? left < STALLED_MB << 10 : left > CALM_MB << 10);
}

static void write_file(int file, const char *text) {
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && close(file) == 0);
}

/* Puts a file with this text at the place of another one. */
static bool show_file(const char *place, const char *text) {
    char path[] = "/tmp/jw-pressure-XXXXXX";
    write_file(mkstemp(path), text);
    bool shown = mount(path, place, NULL, MS_BIND, NULL) == 0;
    unlink(path);
    return shown;
}

static void show_pressure(const char *text, bool grouped) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        check_skip("no namespace of mounts can be made");
    if (mount("none", "/sys/fs/cgroup", "tmpfs", 0, NULL) != 0 || !show_file("/proc/pressure/memory", text) ||
        !show_file("/proc/self/cgroup", "0::/\n"))
        check_skip("the kernel has no /proc/pressure/memory, or nothing can be mounted there");
    if (grouped) write_file(creat("/sys/fs/cgroup/memory.pressure", 0600), "some avg10=0.00 avg60=0.00\n");
}

static int run(char *program, const char *text, const char *state, bool grouped) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        show_pressure(text, grouped);
        setenv("JWMALLOC_CONF", "pressure:true,reclaim_thread:false", 1);
        execl("/proc/self/exe", program, state, (char *)NULL);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int count, char **arguments) {
    if (count > 1) {
        use_and_free(strcmp(arguments[1], "stalled") == 0);
        return 0;
    }
    static const char few[] = "some avg10=9.99 avg60=0.00 avg300=0.00 total=1\n";
    static const char many[] = "some avg10=10.00 avg60=0.00 avg300=0.00 total=1\n";
    int result = run(arguments[0], few, "calm", false);
    for (int grouped = 0; grouped < 2 && result == 0; grouped++) result = run(arguments[0], many, "stalled", grouped);
    return result;
}
