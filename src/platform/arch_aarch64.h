/* arch_aarch64.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap

static inline long raw_call(long number, const long arguments[6]) {
    /* All arguments are read before the first one's register is set: a sanitizer's call for a read may change it. */
    long a = arguments[0], b = arguments[1], c = arguments[2], d = arguments[3], e = arguments[4], f = arguments[5];
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

/* CLONE_ARGUMENTS: the order of clone's arguments. raw_tls: the calling thread's thread pointer. The new thread has no
 * thread-local storage, and gets the same pointer. */
#define CLONE_ARGUMENTS(flags, stack, word, tls)                                                                       \
    { flags, stack, word, tls, word }

static inline long raw_tls(long area[4]) { // NOLINT(readability-non-const-parameter): written on i386
    (void)area;
    return (long)__builtin_thread_pointer();
}

/* Calls clone or clone3 (`number`). The new thread finds `body` in a register: its stack is empty. */
static inline long raw_thread(long number, const long arguments[5], void (*body)(void)) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = arguments[0];
    register long x1 __asm__("x1") = arguments[1];
    register long x2 __asm__("x2") = arguments[2];
    register long x3 __asm__("x3") = arguments[3];
    register long x4 __asm__("x4") = arguments[4];
    register void (*run)(void) __asm__("x19") = body;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t" OUTERMOST_FRAME("x30") "mov x29, xzr\n\t"
                                                              "mov x30, xzr\n\t"
                                                              "blr %[run]\n\t"
                                                              "mov x0, xzr\n\t"
                                                              "mov x8, %[exit]\n\t"
                                                              "svc #0\n\t"
                                                              "brk #0\n\t" CALLERS_FRAME "\n"
                                                              "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [run] "r"(run), [exit] "i"(SYS_exit)
                     : "memory");
    return x0;
}

#endif
