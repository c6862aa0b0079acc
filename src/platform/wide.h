/* wide.h - vectors of 32 bytes (x86-64 with AVX2), for the hardened build.
 *
 * A source whose functions are for such processors alone defines JW_WIDE_HERE, and includes the headers of these
 * functions between WIDE_BEGINS and WIDE_ENDS. Only where wide_is_there has said so may these functions be called.
 */
#ifndef JW_WIDE_H
#define JW_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/features.h"

#if JW_WIDE

#ifdef __clang__
#define WIDE_BEGINS _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#define WIDE_ENDS _Pragma("clang attribute pop")
#else
#define WIDE_BEGINS _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define WIDE_ENDS _Pragma("GCC pop_options")
#endif

/* Whether the processor has AVX2, and the kernel keeps the registers. Called once, at the start. */
static inline bool wide_is_there(void) {
    enum { BASIC_LEAF = 1, HAS_XSAVE = 1 << 27, HAS_AVX = 1 << 28, MORE_LEAF = 7, HAS_AVX2 = 1 << 5, KEPT = 6 };
    uint32_t a = 0, b, c = 0, d, most;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    most = a;
    a = BASIC_LEAF;
    c = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (most < MORE_LEAF || !(c & HAS_XSAVE) || !(c & HAS_AVX)) return false;
    c = 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(c));
    if ((a & KEPT) != KEPT) return false;
    a = MORE_LEAF;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return b & HAS_AVX2;
}

/* The steps on memory are in assembler: a compiler that has such vectors in variables aligns the stack for them. Each
 * leaves the upper halves of the registers zero, as code for the lower halves expects. */
#define WIDE ((size_t)32)

/* Whether 2, 4 or 8 vectors have only zeros: half of them from `from` up, half of them from `end` down. */
static ALWAYS_INLINE bool wide_is_zero_2(const char *from, const char *end) {
    bool zero;
    __asm__ volatile("vmovdqu (%[from]), %%ymm0\n\tvpor -32(%[end]), %%ymm0, %%ymm0\n\t"
                     "vptest %%ymm0, %%ymm0\n\tvzeroupper"
                     : "=@ccz"(zero)
                     : [from] "r"(from), [end] "r"(end)
                     : "xmm0", "memory");
    return zero;
}

static ALWAYS_INLINE bool wide_is_zero_4(const char *from, const char *end) {
    bool zero;
    __asm__ volatile("vmovdqu (%[from]), %%ymm0\n\tvpor -32(%[end]), %%ymm0, %%ymm0\n\t"
                     "vpor 32(%[from]), %%ymm0, %%ymm0\n\tvpor -64(%[end]), %%ymm0, %%ymm0\n\t"
                     "vptest %%ymm0, %%ymm0\n\tvzeroupper"
                     : "=@ccz"(zero)
                     : [from] "r"(from), [end] "r"(end)
                     : "xmm0", "memory");
    return zero;
}

static ALWAYS_INLINE bool wide_is_zero_8(const char *from, const char *end) {
    bool zero;
    __asm__ volatile("vmovdqu (%[from]), %%ymm0\n\tvmovdqu 32(%[from]), %%ymm1\n\t"
                     "vpor -32(%[end]), %%ymm0, %%ymm0\n\tvpor -64(%[end]), %%ymm1, %%ymm1\n\t"
                     "vpor 64(%[from]), %%ymm0, %%ymm0\n\tvpor 96(%[from]), %%ymm1, %%ymm1\n\t"
                     "vpor -96(%[end]), %%ymm0, %%ymm0\n\tvpor -128(%[end]), %%ymm1, %%ymm1\n\t"
                     "vpor %%ymm1, %%ymm0, %%ymm0\n\tvptest %%ymm0, %%ymm0\n\tvzeroupper"
                     : "=@ccz"(zero)
                     : [from] "r"(from), [end] "r"(end)
                     : "xmm0", "xmm1", "memory");
    return zero;
}

/* Clear 2, 4 or 8 vectors. */
// NOLINTNEXTLINE(readability-non-const-parameter): it writes there
static ALWAYS_INLINE void wide_clear_2(char *from, char *end) {
    __asm__ volatile(
        "vpxor %%xmm0, %%xmm0, %%xmm0\n\tvmovdqu %%ymm0, (%[from])\n\tvmovdqu %%ymm0, -32(%[end])" ::[from] "r"(from),
        [end] "r"(end)
        : "xmm0", "memory");
}

// NOLINTNEXTLINE(readability-non-const-parameter): it writes there
static ALWAYS_INLINE void wide_clear_4(char *from, char *end) {
    __asm__ volatile("vpxor %%xmm0, %%xmm0, %%xmm0\n\tvmovdqu %%ymm0, (%[from])\n\tvmovdqu %%ymm0, -32(%[end])\n\t"
                     "vmovdqu %%ymm0, 32(%[from])\n\tvmovdqu %%ymm0, -64(%[end])" ::[from] "r"(from),
                     [end] "r"(end)
                     : "xmm0", "memory");
}

// NOLINTNEXTLINE(readability-non-const-parameter): it writes there
static ALWAYS_INLINE void wide_clear_8(char *from, char *end) {
    __asm__ volatile("vpxor %%xmm0, %%xmm0, %%xmm0\n\tvmovdqu %%ymm0, (%[from])\n\tvmovdqu %%ymm0, -32(%[end])\n\t"
                     "vmovdqu %%ymm0, 32(%[from])\n\tvmovdqu %%ymm0, -64(%[end])\n\t"
                     "vmovdqu %%ymm0, 64(%[from])\n\tvmovdqu %%ymm0, -96(%[end])\n\t"
                     "vmovdqu %%ymm0, 96(%[from])\n\tvmovdqu %%ymm0, -128(%[end])" ::[from] "r"(from),
                     [end] "r"(end)
                     : "xmm0", "memory");
}

#else
static inline bool wide_is_there(void) {
    return false;
}
#endif

#endif
