/* arch_x86_64.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap

static inline long raw_call(long number, const long arguments[6]) {
    /* All are read before the first is bound to its register: a sanitizer's call for a read would overwrite it. */
    long a = arguments[0], b = arguments[1], c = arguments[2], d = arguments[3], e = arguments[4], f = arguments[5];
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* clone(flags, stack, -, clear, -); the new thread finds `body` in a register, as the stack is empty. */
static inline long raw_thread(long flags, void *stack, void *clear, void (*body)(void)) {
    register void (*run)(void) __asm__("r12") = body;
    register void *word __asm__("r10") = clear;
    register long tls __asm__("r8") = 0;
    long result = SYS_clone;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t" OUTERMOST_FRAME("rip") "xor %%ebp, %%ebp\n\t"
                                                         "call *%[run]\n\t"
                                                         "xor %%edi, %%edi\n\t"
                                                         "mov %[exit], %%eax\n\t"
                                                         "syscall\n\t"
                                                         "hlt\n\t" CALLERS_FRAME "\n"
                                                         "1:"
                     : "+a"(result)
                     : "D"(flags), "S"(stack), "d"(0L), "r"(word), "r"(tls), [run] "r"(run), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
