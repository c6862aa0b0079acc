/* arch_x86_64.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap

static inline long raw_call(long number, const long arguments[6]) {
    /* All arguments are read before the first one's register is set: a sanitizer's call for a read may change it. */
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

/* CLONE_ARGUMENTS: the order of clone's arguments. raw_tls: the calling thread's thread pointer. The new thread has no
 * thread-local storage, and gets the same pointer. */
#define CLONE_ARGUMENTS(flags, stack, word, tls)                                                                       \
    { flags, stack, word, word, tls }

static inline long raw_tls(long area[4]) { // NOLINT(readability-non-const-parameter): written on i386
    long self;
    (void)area;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
}

/* Calls clone or clone3 (`number`). The new thread finds `body` in a register: its stack is empty. */
static inline long raw_thread(long number, const long arguments[5], void (*body)(void)) {
    register void (*run)(void) __asm__("r12") = body;
    register long r10 __asm__("r10") = arguments[3];
    register long r8 __asm__("r8") = arguments[4];
    long result = number;
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
                     : "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10),
                       "r"(r8), [run] "r"(run), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
