/* spawn.c - runs a program, its output thrown away, and prints its processor time and peak memory, with those of its
 * children. The kernel counts the memory of the process that starts a program, too: so a small one starts it.
 *
 *   spawn PROGRAM [ARGUMENT ...]
 */
#include "bench.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void become(char **command) {
    int nowhere = open("/dev/null", O_RDWR);
    CHECK(nowhere >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) dup2(nowhere, file);
    execvp(command[0], command);
    _exit(127);
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int count, char **arguments) {
    CHECK(count > 1);
    double begun = seconds_now();
    struct rusage usage;
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) become(arguments + 1);
    CHECK(wait4(child, &status, 0, &usage) == child);
    struct measure end = {seconds_now() - begun, seconds_of(usage.ru_utime), seconds_of(usage.ru_stime)};
    dprintf(STDOUT_FILENO, "{\"seconds\": %.6f, \"user\": %.6f, \"system\": %.6f, \"peak_kb\": %ld}\n", end.seconds,
            end.user, end.system, usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
