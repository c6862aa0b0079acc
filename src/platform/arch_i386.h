/* arch_i386.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap2 /* counts its offset in pages: ours is always 0 */

/* For unwind tables, of code whose frame is found by the stack pointer: where the compiler has no frame pointer. */
#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && defined(__OPTIMIZE__)
#define PUSHED(name) ".cfi_adjust_cfa_offset 4\n\t.cfi_rel_offset " name ", 0\n\t"
#define POPPED(name) ".cfi_adjust_cfa_offset -4\n\t.cfi_restore " name
#else
#define PUSHED(name)
#define POPPED(name)
#endif

/* The sixth argument goes into ebp, which may be the frame pointer, and then no register is left: the last two are
 * loaded by hand. int $0x80 instead of the vDSO's faster door, because that is found through thread-local storage. */
static inline long raw_call(long number, const long arguments[6]) {
    const long *last = arguments + 4;
    long result = number;
    __asm__ volatile("push %%ebp\n\t" PUSHED("ebp") "mov 4(%%edi), %%ebp\n\t"
                                                    "mov (%%edi), %%edi\n\t"
                                                    "int $0x80\n\t"
                                                    "pop %%ebp\n\t" POPPED("ebp")
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
