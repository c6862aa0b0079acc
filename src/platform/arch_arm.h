/* arch_arm.h - entering the kernel and starting a bare thread, for linux_call.h only.
 *
 * The call's number goes into r7, which is the frame pointer of Thumb code: it is saved in another register by hand.
 */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap2 /* counts its offset in pages: ours is always 0 */

static inline long raw_call(long number, const long arguments[6]) {
    /* All arguments are read before the first one's register is set: a sanitizer's call for a read may change it. */
    long a = arguments[0], b = arguments[1], c = arguments[2], d = arguments[3], e = arguments[4], f = arguments[5];
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    register long r6 __asm__("r6") = number;
    long saved;
    __asm__ volatile("mov %[saved], r7\n\t"
                     "mov r7, %[number]\n\t"
                     "svc #0\n\t"
                     "mov r7, %[saved]"
                     : "+r"(r0), [saved] "=&r"(saved)
                     : [number] "r"(r6), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "memory");
    return r0;
}

/* CLONE_ARGUMENTS: the order of clone's arguments. raw_tls: the calling thread's thread pointer. The new thread has no
 * thread-local storage, and gets the same pointer. */
#define CLONE_ARGUMENTS(flags, stack, word, tls)                                                                       \
    { flags, stack, word, tls, word }

static inline long raw_tls(long area[4]) { // NOLINT(readability-non-const-parameter): written on i386
    (void)area;
    return (long)__builtin_thread_pointer();
}

/* Calls clone (`number`). The new thread finds `body` in a register: its stack is empty. */
static inline long raw_thread(long number, const long arguments[5], void (*body)(void)) {
    register long r0 __asm__("r0") = arguments[0];
    register long r1 __asm__("r1") = arguments[1];
    register long r2 __asm__("r2") = arguments[2];
    register long r3 __asm__("r3") = arguments[3];
    register long r4 __asm__("r4") = arguments[4];
    register void (*run)(void) __asm__("r5") = body;
    register long r6 __asm__("r6") = number;
    long saved;
    __asm__ volatile("mov %[saved], r7\n\t"
                     "mov r7, %[number]\n\t"
                     "svc #0\n\t"
                     "cmp r0, #0\n\t"
                     "bne 1f\n\t"
                     "mov lr, #0\n\t" /* the outermost frame */
                     "blx %[run]\n\t"
                     "mov r0, #0\n\t"
                     "mov r7, %[exit]\n\t"
                     "svc #0\n\t"
                     "udf #0\n"
                     "1: mov r7, %[saved]"
                     : "+r"(r0), [saved] "=&r"(saved)
                     : "r"(r1), "r"(r2), "r"(r3), "r"(r4), [run] "r"(run), [number] "r"(r6), [exit] "i"(SYS_exit)
                     : "memory", "cc");
    return r0;
}

#endif
