/* step.c - single-steps a program between two SIGSTOPs of its own and writes each instruction's address to a file.
 *
 * Usage: step FILE PROGRAM [ARGUMENT...]; the file gets 64-bit words, with bit 63 set where the instruction is a
 * conditional branch. Only the program's first thread is stepped; others run freely. The processor itself counts here:
 * nothing is simulated.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONDITIONAL (UINT64_C(1) << 63)

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

/* The instruction's bytes, of which a conditional branch has its code in the first ones. */
static bool is_conditional(uint64_t word) {
#if defined(__x86_64__)
    uint8_t first = (uint8_t)word, second = (uint8_t)(word >> 8);
    if (first == 0x2e || first == 0x3e || first == 0xf2) return is_conditional(word >> 8); /* a hint before it */
    return (first & 0xf0) == 0x70 || (first == 0x0f && (second & 0xf0) == 0x80) || (first >= 0xe0 && first <= 0xe3);
#else
    uint32_t code = (uint32_t)word;
    return (code & 0xff000000) == 0x54000000 || (code & 0x7c000000) == 0x34000000; /* b.cond; cbz, cbnz, tbz, tbnz */
#endif
}

/* The same addresses come again and again, so what they hold is read once. */
static uint64_t flagged(pid_t child, uint64_t address) {
    static uint64_t known[1 << 16];
    uint64_t *place = &known[address % (sizeof known / sizeof *known)];
    if ((*place & ~CONDITIONAL) != address) {
        uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, child, (void *)(uintptr_t)address, NULL);
        *place = address | (is_conditional(word) ? CONDITIONAL : 0);
    }
    return *place;
}

/* From the program's first SIGSTOP to its second. */
static int step_between_stops(pid_t child, FILE *output) {
    int status, stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status);
        if (signal == SIGSTOP) stops++;
        if (signal == SIGSTOP || signal == SIGTRAP) signal = 0;
        if (stops == 1) {
            uint64_t word = flagged(child, program_counter(child));
            fwrite(&word, sizeof(word), 1, output);
        }
        int how = stops == 1 ? PTRACE_SINGLESTEP : PTRACE_CONT;
        if (ptrace(how, child, NULL, (void *)(intptr_t)signal) != 0) return 1;
    }
    return fclose(output) != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int count, char **arguments) {
    FILE *output = count > 2 ? fopen(arguments[1], "w") : NULL;
    if (output == NULL) return 2;
    /* On one processor, a step is a switch between two processes and wakes no other processor. */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(arguments[2], arguments + 2);
        _exit(127);
    }
    return child < 0 ? 2 : step_between_stops(child, output);
}
