/* arch_i386.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap2 /* counts its offset in pages: ours is always 0 */

/* While ebp is the sixth argument, a function with a frame pointer finds its frame by the word on top of the stack. The
 * frame's address is that word plus 8. */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define FRAME_BY_STACK ".cfi_escape 0x0f, 5, 0x74, 0, 0x06, 0x23, 8\n\t"
#define FRAME_BY_POINTER "\n\t.cfi_def_cfa ebp, 8"
#else
#define FRAME_BY_STACK
#define FRAME_BY_POINTER
#endif

/* The sixth argument goes into ebp, which may be the frame pointer. Then no register is left, so the last two arguments
 * are loaded by hand. int $0x80 enters the kernel: the vDSO's faster entry is found through thread-local storage. */
static inline long raw_call(long number, const long arguments[6]) {
    const long *last = arguments + 4;
    long result = number;
    (void)*(void *volatile *)__builtin_frame_address(0); /* the function must have a frame pointer */
    __asm__ volatile("push %%ebp\n\t" FRAME_BY_STACK "mov 4(%%edi), %%ebp\n\t"
                     "mov (%%edi), %%edi\n\t"
                     "int $0x80\n\t"
                     "pop %%ebp" FRAME_BY_POINTER
                     : "+a"(result), "+D"(last)
                     : "b"(arguments[0]), "c"(arguments[1]), "d"(arguments[2]), "S"(arguments[3])
                     : "memory");
    return result;
}

/* CLONE_ARGUMENTS: the order of clone's arguments. raw_tls: the calling thread's segment. The new thread has no
 * thread-local storage, and gets the same segment. */
#define CLONE_ARGUMENTS(flags, stack, word, tls)                                                                       \
    { flags, stack, word, tls, word }

static inline long raw_tls(long area[4]) { // NOLINT(readability-non-const-parameter): written on i386
    enum { ALL = 0xfffff, DATA_OF_32_BITS_IN_PAGES_USABLE = 0x51 };
    long selector, self;
    __asm__("mov %%gs, %0" : "=r"(selector));
    __asm__("mov %%gs:0, %0" : "=r"(self));
    area[0] = (selector & 0xffff) >> 3;
    area[1] = self;
    area[2] = ALL;
    area[3] = DATA_OF_32_BITS_IN_PAGES_USABLE;
    return (long)area;
}

/* Calls clone (`number`). The new thread finds `body` on top of its stack, which is the second argument. */
static inline long raw_thread(long number, const long arguments[5], void (*body)(void)) {
    void (**top)(void) = (void (**)(void))arguments[1];
    *--top = body;
    long result = number;
    __asm__ volatile("int $0x80\n\t"
                     "test %%eax, %%eax\n\t"
                     "jnz 1f\n\t" OUTERMOST_FRAME("eip") "xor %%ebp, %%ebp\n\t"
                                                         "pop %%eax\n\t"
                                                         "call *%%eax\n\t"
                                                         "xor %%ebx, %%ebx\n\t"
                                                         "mov %[exit], %%eax\n\t"
                                                         "int $0x80\n\t"
                                                         "hlt\n\t" CALLERS_FRAME "\n"
                                                         "1:"
                     : "+a"(result)
                     : "b"(arguments[0]), "c"(top), "d"(arguments[2]), "S"(arguments[3]),
                       "D"(arguments[4]), [exit] "i"(SYS_exit)
                     : "memory");
    return result;
}

#endif
