/* arch_x86_64.h - switching stacks and thread pointers. */
#ifndef JW_VERIFY_ARCH_H
#define JW_VERIFY_ARCH_H

#include <asm/prctl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libc's own data of a thread begins at the thread pointer; static thread-local storage lies below. */
enum { ARCH_LIBC_BELOW = 0, ARCH_LIBC_ABOVE = 0x900 };

/* Saves what a function must preserve, stores the stack pointer, and goes on at the other one. */
void arch_switch(void **save, void *to);
__asm__(".text\n.globl arch_switch\n.hidden arch_switch\n.type arch_switch, @function\n"
        "arch_switch:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
        "  ret\n");

/* A stack that arch_switch enters at `entry`. The zero on top ends a debugger's walk. */
static inline void *arch_prepare(void *top, void (*entry)(void)) {
    uint64_t *stack = (uint64_t *)top - 8;
    for (unsigned i = 0; i < 8; i++) stack[i] = 0;
    stack[6] = (uint64_t)entry;
    return stack;
}

static inline uint64_t arch_tls(void) {
    uint64_t base;
    __asm__("mov %%fs:0, %0" : "=r"(base));
    return base;
}

static inline void arch_set_tls(uint64_t base) {
    static int fast = -1;
    if (fast < 0) fast = (int)(getauxval(AT_HWCAP2) >> 1 & 1);
    if (fast) __asm__ volatile("wrfsbase %0" ::"r"(base) : "memory");
    else syscall(SYS_arch_prctl, ARCH_SET_FS, base);
}

/* libc finds its own data through these words. */
static inline void arch_adopt_tls(uint64_t base) {
    ((uint64_t *)base)[0] = base;
    ((uint64_t *)base)[2] = base;
}

#endif
