/* options_plain.c [threads|huge|redirect FILE|unnamed] - a program without options of its own. With `threads` it prints
 * how many threads the process has after work that a reclamation thread would be started for; with `huge` how many
 * mappings ask for huge pages; with `redirect` its standard error is FILE from then on. With `unnamed` it starts itself
 * again behind a filter that kills for the call that names a mapping. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

static void start_unnamed(char *program) {
    enum { NAMES = 0x53564d41 /* PR_SET_VMA */ };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NAMES, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        check_skip("the kernel takes no seccomp filter here");
    execl(program, program, (char *)NULL);
    CHECK(!"started again");
}

int main(int count, char **arguments) {
    for (uint64_t i = 0; i < 50; i++) tiers_work(i);
    if (count > 1 && strcmp(arguments[1], "threads") == 0) printf("%d\n", threads_now());
    if (count > 1 && strcmp(arguments[1], "huge") == 0) printf("%d\n", huge_mappings());
    if (count > 1 && strcmp(arguments[1], "unnamed") == 0) start_unnamed(arguments[0]);
    if (count > 2 && strcmp(arguments[1], "redirect") == 0) {
        CHECK(close(STDERR_FILENO) == 0);
        CHECK(open(arguments[2], O_WRONLY | O_CREAT, 0600) == STDERR_FILENO);
    }
    return 0;
}
