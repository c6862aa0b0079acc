/* arch_i386.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap2 /* counts its offset in pages: ours is always 0 */

/* While ebp is the sixth argument, a function with a frame pointer finds its frame by the one on top of the stack: the
 * frame's address is what stands there, and 8. */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define FRAME_BY_STACK ".cfi_escape 0x0f, 5, 0x74, 0, 0x06, 0x23, 8\n\t"
#define FRAME_BY_POINTER "\n\t.cfi_def_cfa ebp, 8"
#else
#define FRAME_BY_STACK
#define FRAME_BY_POINTER
#endif

/* The sixth argument goes into ebp, which may be the frame pointer, and then no register is left: the last two are
 * loaded by hand. int $0x80 instead of the vDSO's faster door, because that is found through thread-local storage. */
static inline long raw_call(long number, const long arguments[6]) {
    const long *last = arguments + 4;
    long result = number;
    (void)*(void *volatile *)__builtin_frame_address(0); /* the function must have one */
    __asm__ volatile("push %%ebp\n\t" FRAME_BY_STACK "mov 4(%%edi), %%ebp\n\t"
                     "mov (%%edi), %%edi\n\t"
                     "int $0x80\n\t"
                     "pop %%ebp" FRAME_BY_POINTER
                     : "+a"(result), "+D"(last)
                     : "b"(arguments[0]), "c"(arguments[1]), "d"(arguments[2]), "S"(arguments[3])
                     : "memory");
    return result;
}

/* clone(flags, stack, -, -, clear); the new thread finds `body` on its stack. */
static inline long raw_thread(long flags, void *stack, void *clear, void (*body)(void)) {
    void (**top)(void) = (void (**)(void))stack;
    *--top = body;
    long result = SYS_clone;
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
                     : "b"(flags), "c"(top), "d"(0L), "S"(0L), "D"(clear), [exit] "i"(SYS_exit)
                     : "memory");
    return result;
}

#endif
