/* start.h - a program's first instructions and its thread pointer, for the mock C library. */
#ifndef JW_MOCK_START_H
#define JW_MOCK_START_H

/* `stack` is what the kernel has put there: the number of arguments, they, the environment, the auxiliary vector. */
_Noreturn void mock_main(long *stack) __attribute__((used));

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall mock_main\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tmov x0, sp\n\tb mock_main\n");
#elif defined(__riscv)
__asm__(".globl _start\n_start:\n\tli s0, 0\n\tmv a0, sp\n\ttail mock_main\n");
#endif

static inline void set_thread_pointer(void *control) {
#if defined(__x86_64__)
    long number = 158, set_fs = 0x1002; /* arch_prctl */
    __asm__ volatile("syscall" : "+a"(number) : "D"(set_fs), "S"(control) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("msr tpidr_el0, %0" : : "r"(control) : "memory");
#elif defined(__riscv)
    __asm__ volatile("mv tp, %0" : : "r"(control) : "memory");
#endif
}

#endif
