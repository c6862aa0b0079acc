/* arch_i386.h - entering the kernel and starting a bare thread, for linux_call.h only. */
#ifndef JW_ARCH_H
#define JW_ARCH_H

#define RAW_MMAP SYS_mmap2 /* counts its offset in pages: ours is always 0 */

/* The sixth argument goes into ebp, which may be the frame pointer: it is passed over the stack. int $0x80 instead of
 * the vDSO's faster door, because that is found through thread-local storage. */
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    __asm__ volatile("pushl %7\n\t"
                     "push %%ebp\n\t"
                     "mov 4(%%esp), %%ebp\n\t"
                     "int $0x80\n\t"
                     "pop %%ebp\n\t"
                     "add $4, %%esp"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), "g"(f)
                     : "memory");
    return result;
}

/* clone(flags, stack, -, -, clear); the new thread finds `body` on its stack. */
static inline long raw_thread(long flags, void *stack, void *clear, void (*body)(void))
{
    void (**top)(void) = (void (**)(void))stack;
    *--top = body;
    long result = SYS_clone;
    __asm__ volatile("int $0x80\n\t"
                     "test %%eax, %%eax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t" /* the outermost frame */
                     "pop %%eax\n\t"
                     "call *%%eax\n\t"
                     "xor %%ebx, %%ebx\n\t"
                     "mov %[exit], %%eax\n\t"
                     "int $0x80\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(result)
                     : "b"(flags), "c"(top), "d"(0L), "S"(0L), "D"(clear), [exit] "i"(SYS_exit)
                     : "memory");
    return result;
}

#endif
