/* arch_riscv64.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap

static inline long raw_call(long number, const long arguments[6]) {
    /* All arguments are read before the first one's register is set: a sanitizer's call for a read may change it. */
    long a = arguments[0], b = arguments[1], c = arguments[2], d = arguments[3], e = arguments[4], f = arguments[5];
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return a0;
}

/* CLONE_ARGUMENTS: the order of clone's arguments. raw_tls: the calling thread's thread pointer. The new thread has no
 * thread-local storage, and gets the same pointer. */
#define CLONE_ARGUMENTS(flags, stack, word, tls)                                                                       \
    { flags, stack, word, tls, word }

static inline long raw_tls(long area[4]) { // NOLINT(readability-non-const-parameter): written on i386
    long self;
    (void)area;
    __asm__("mv %0, tp" : "=r"(self));
    return self;
}

/* Calls clone or clone3 (`number`). The new thread finds `body` in a register: its stack is empty. */
static inline long raw_thread(long number, const long arguments[5], void (*body)(void)) {
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = arguments[0];
    register long a1 __asm__("a1") = arguments[1];
    register long a2 __asm__("a2") = arguments[2];
    register long a3 __asm__("a3") = arguments[3];
    register long a4 __asm__("a4") = arguments[4];
    register void (*run)(void) __asm__("s1") = body;
    __asm__ volatile("ecall\n\t"
                     "bnez a0, 1f\n\t" OUTERMOST_FRAME("ra") "li s0, 0\n\t"
                                                             "li ra, 0\n\t"
                                                             "jalr %[run]\n\t"
                                                             "li a0, 0\n\t"
                                                             "li a7, %[exit]\n\t"
                                                             "ecall\n\t"
                                                             "ebreak\n\t" CALLERS_FRAME "\n"
                                                             "1:"
                     : "+r"(a0)
                     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), [run] "r"(run), [exit] "i"(SYS_exit)
                     : "memory");
    return a0;
}

#endif
