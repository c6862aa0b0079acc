/* aes.h - AES of one block by the processor's own instructions (x86-64 and AArch64), for the hardened build.
 *
 *   block ^ round[0], then nine rounds with round[1] to round[9], and the last round with round[10]
 *
 * These are the ten rounds of AES-128. The 11 round keys may be any, also random and independent ones. Nothing
 * here may be called where the processor lacks the instructions (aes_is_there), or where JW_AES is 0 (features.h).
 * Test: unit/trailer_test.c, with the example of the standard (FIPS 197).
 */
#ifndef JW_AES_H
#define JW_AES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

#include "base/compiler.h"
#include "platform/features.h"

enum { AES_ROUNDS = 10 };

typedef uint64_t __attribute__((vector_size(16), aligned(16))) aes_block;

struct aes_keys {
    aes_block round[AES_ROUNDS + 1];
};

#if JW_AES

/* Whether the processor has the instructions; on x86-64 those of SSE4.1 as well, as every such processor does. Called
 * once, at the start. */
static inline bool aes_is_there(void) {
#ifdef __x86_64__
    enum { FEATURES = 1, HAS_AES = 1 << 25, HAS_SSE41 = 1 << 19 };
    uint32_t a = FEATURES, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (c & HAS_AES) && (c & HAS_SSE41);
#else
    enum { HAS_AES = 1 << 3 };
    return getauxval(AT_HWCAP) & HAS_AES;
#endif
}

#define AES_OPERANDS(constraint)                                                                                       \
    [k1] constraint(keys->round[1]), [k2] constraint(keys->round[2]), [k3] constraint(keys->round[3]),                 \
        [k4] constraint(keys->round[4]), [k5] constraint(keys->round[5]), [k6] constraint(keys->round[6]),             \
        [k7] constraint(keys->round[7]), [k8] constraint(keys->round[8]), [k9] constraint(keys->round[9])

static ALWAYS_INLINE aes_block aes_of(const struct aes_keys *keys, aes_block block) {
#ifdef __x86_64__
    block ^= keys->round[0];
#ifdef JW_WIDE_HERE /* the other form of the same instructions: the two forms should not be mixed */
    __asm__("vaesenc %[k1], %[block], %[block]\n\tvaesenc %[k2], %[block], %[block]\n\t"
            "vaesenc %[k3], %[block], %[block]\n\tvaesenc %[k4], %[block], %[block]\n\t"
            "vaesenc %[k5], %[block], %[block]\n\tvaesenc %[k6], %[block], %[block]\n\t"
            "vaesenc %[k7], %[block], %[block]\n\tvaesenc %[k8], %[block], %[block]\n\t"
            "vaesenc %[k9], %[block], %[block]\n\tvaesenclast %[k10], %[block], %[block]"
#else
    __asm__("aesenc %[k1], %[block]\n\taesenc %[k2], %[block]\n\taesenc %[k3], %[block]\n\t"
            "aesenc %[k4], %[block]\n\taesenc %[k5], %[block]\n\taesenc %[k6], %[block]\n\t"
            "aesenc %[k7], %[block]\n\taesenc %[k8], %[block]\n\taesenc %[k9], %[block]\n\t"
            "aesenclast %[k10], %[block]"
#endif
            : [block] "+x"(block)
            : AES_OPERANDS("m"), [k10] "m"(keys->round[10]));
    return block;
#else
    __asm__(".arch_extension aes\n\t"
            "aese %[block].16b, %[k0].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k1].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k2].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k3].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k4].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k5].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k6].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k7].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k8].16b\n\taesmc %[block].16b, %[block].16b\n\t"
            "aese %[block].16b, %[k9].16b"
            : [block] "+w"(block)
            : [k0] "w"(keys->round[0]), AES_OPERANDS("w"));
    return block ^ keys->round[10];
#endif
}

#endif

#endif
