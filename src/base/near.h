/* near.h - reads the library's own words by one instruction each, where the processor can.
 *
 * AArch64 has a load from up to 1 MB before or behind the instruction. In the tiny code model, that of the shared
 * library, all variables are so near. GCC still makes the address first, by an instruction of its own: 0.6 KB of text
 * in the slow paths. Archives and other compilers have the usual code.
 *
 * The statement also names the memory at the stack pointer, which needs no instruction. So the compiler takes it for a
 * read of memory: it may use one read for two, but not across a call or an atomic operation of base/atomics.h. It does
 * not know which variable is read. A function that writes the variable must not read it so behind the write.
 * A file that defines READS_PAIRS before its includes has the usual code: core/free.c, whose first steps read
 * neighbours in pairs. */
#ifndef JW_NEAR_H
#define JW_NEAR_H

#include <stdatomic.h>
#include <stdint.h>

#if defined __AARCH64_CMODEL_TINY__ && defined __OPTIMIZE__ && !defined __clang__ && !defined READS_PAIRS
#define NEAR_READ(object)                                                                                              \
    __extension__({                                                                                                    \
        uint64_t word_;                                                                                                \
        register const char *stack_ __asm__("sp");                                                                     \
        _Static_assert(sizeof(object) == 4 || sizeof(object) == 8, "there is an instruction for this size");           \
        if (sizeof(object) == 8) __asm__("ldr %0, %1" : "=r"(word_) : "S"(&(object)), "m"(*stack_));                   \
        else __asm__("ldr %w0, %1" : "=r"(word_) : "S"(&(object)), "m"(*stack_));                                      \
        (__typeof__((void)0, object))word_;                                                                            \
    })
#define NEAR_LOAD(object) NEAR_READ(object)
#define READS_NEAR 1
#else
/* A plain variable, or a member of one, that is constant after the start. */
#define NEAR_READ(object) (object)
#define READS_NEAR 0
/* An atomic variable, relaxed. */
#define NEAR_LOAD(object) atomic_load_explicit(&(object), memory_order_relaxed)
#endif

#endif
