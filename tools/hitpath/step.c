/* step.c - single-steps a program between two SIGSTOPs of its own and writes each instruction's address to a file.
 *
 * Usage: step FILE PROGRAM [ARGUMENT...]; the file gets 64-bit words. Only the program's first thread is stepped;
 * others run freely. The processor itself counts here: nothing is simulated.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t program_counter(pid_t child) {
    struct user_regs_struct registers;
    struct iovec area = {&registers, sizeof(registers)};
    if (ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &area) != 0) return 0;
#if defined(__x86_64__)
    return registers.rip;
#else
    return registers.pc;
#endif
}

/* From the program's first SIGSTOP to its second. */
static int step_between_stops(pid_t child, FILE *output) {
    int status, stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status);
        if (signal == SIGSTOP) stops++;
        if (signal == SIGSTOP || signal == SIGTRAP) signal = 0;
        if (stops == 1) {
            uint64_t address = program_counter(child);
            fwrite(&address, sizeof(address), 1, output);
        }
        int how = stops == 1 ? PTRACE_SINGLESTEP : PTRACE_CONT;
        if (ptrace(how, child, NULL, (void *)(intptr_t)signal) != 0) return 1;
    }
    return fclose(output) != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int count, char **arguments) {
    FILE *output = count > 2 ? fopen(arguments[1], "w") : NULL;
    if (output == NULL) return 2;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(arguments[2], arguments + 2);
        _exit(127);
    }
    return child < 0 ? 2 : step_between_stops(child, output);
}
