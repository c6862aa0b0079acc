/* options_plain.c [threads|huge|redirect FILE] - a program without options of its own. With `threads` it prints how
 * many threads the process has after work that a reclamation thread would be started for; with `huge` how many mappings
 * ask for huge pages; with `redirect` its standard error is FILE from then on. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "tiers.h"

static int threads_now(void) {
    int threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) threads += task->d_name[0] != '.';
    closedir(tasks);
    return threads;
}

static int huge_mappings(void) {
    int mappings = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/smaps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) mappings += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL;
    fclose(maps);
    return mappings;
}

int main(int count, char **arguments) {
    for (uint64_t i = 0; i < 50; i++) tiers_work(i);
    if (count > 1 && strcmp(arguments[1], "threads") == 0) printf("%d\n", threads_now());
    if (count > 1 && strcmp(arguments[1], "huge") == 0) printf("%d\n", huge_mappings());
    if (count > 2 && strcmp(arguments[1], "redirect") == 0) {
        CHECK(close(STDERR_FILENO) == 0);
        CHECK(open(arguments[2], O_WRONLY | O_CREAT, 0600) == STDERR_FILENO);
    }
    return 0;
}
