/* arch_aarch64.h - switching stacks and thread pointers. */
#ifndef JW_VERIFY_ARCH_H
#define JW_VERIFY_ARCH_H

#include <stdint.h>

/* libc's own data of a thread lies below the thread pointer, static thread-local storage above. */
enum { ARCH_LIBC_BELOW = 0x900, ARCH_LIBC_ABOVE = 16 };

/* Saves what a function must preserve, stores the stack pointer, and goes on at the other one. */
void arch_switch(void **save, void *to);
__asm__(".text\n.globl arch_switch\n.hidden arch_switch\n.type arch_switch, %function\n"
        "arch_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n");

/* A stack that arch_switch enters at `entry`. The zero frame ends a debugger's walk. */
static inline void *arch_prepare(void *top, void (*entry)(void)) {
    uint64_t *stack = (uint64_t *)top - 20;
    for (unsigned i = 0; i < 20; i++) stack[i] = 0;
    stack[11] = (uint64_t)entry;
    return stack;
}

static inline uint64_t arch_tls(void) {
    uint64_t base;
    __asm__("mrs %0, tpidr_el0" : "=r"(base));
    return base;
}

static inline void arch_set_tls(uint64_t base) {
    __asm__ volatile("msr tpidr_el0, %0" ::"r"(base) : "memory");
}

static inline void arch_adopt_tls(uint64_t base) {
    (void)base;
}

#endif
