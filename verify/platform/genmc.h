/* genmc.h - stands before the sources of a client for GenMC: other forms of the few expressions that GenMC cannot read.
 * Our own checker runs the sources as they are. tools/jw/genmc.py includes this file.
 */
#ifndef JW_MODEL_GENMC_H
#define JW_MODEL_GENMC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef ENOTSUP /* GenMC's own errno.h has few codes */
#define ENOTSUP 95
#endif

void __VERIFIER_assume(bool condition);

#define MODEL_AS_GENMC /* a wait is the assumption that it ends; our own checker does so to compare the two */

/* GenMC has no arithmetic with overflow, of which the sources need the result and the carry. */
static inline __attribute__((always_inline)) bool genmc_product(uint64_t a, uint64_t b, uint64_t *product) {
    *product = a * b;
    return b != 0 && a > UINT64_MAX / b;
}

static inline __attribute__((always_inline)) bool genmc_sum(uint64_t a, uint64_t b, uint64_t *sum) {
    *sum = a + b;
    return *sum < a;
}

#define __builtin_mul_overflow(a, b, product) genmc_product(a, b, product)
#define __builtin_add_overflow(a, b, sum) genmc_sum(a, b, sum)
#define __builtin_sub_overflow(a, b, unused) ((void)(unused), (a) < (b)) /* the sources use only the borrow */

/* Filling as a whole would be one access: bytes are filled as bytes, all else as words, which are always cleared. */
static inline __attribute__((always_inline)) void *genmc_fill_bytes(void *start, int value, size_t size) {
    for (size_t i = 0; i < size; i++) ((uint8_t *)start)[i] = (uint8_t)value;
    return start;
}

static inline __attribute__((always_inline)) void *genmc_fill_words(void *start, int value, size_t size) {
    for (size_t i = 0; i < size / sizeof(uint64_t); i++) ((uint64_t *)start)[i] = (uint64_t)value;
    return start;
}

#define memset(start, value, size)                                                                                     \
    _Generic((start), uint8_t *: genmc_fill_bytes, default: genmc_fill_words)(start, value, size)

/* So is copying: of objects, whose sizes are multiples of a word. */
static inline __attribute__((always_inline)) void *genmc_copy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size / sizeof(uint64_t); i++) ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
    return to;
}

#define memcpy genmc_copy

/* An access to half of a word is of another size than the accesses to the word: GenMC takes that for a mistake. */
#define link_upper_half link_upper_half_in_place
#include "sync/free_link.h"
#undef link_upper_half

static _Thread_local uint32_t upper_half;

static inline __attribute__((always_inline)) const link_half *link_upper_half(const void *object) {
    upper_half = (uint32_t)(*(const link_word *)object >> 32);
    return (const link_half *)&upper_half;
}

/* A weak name that nothing defines cannot be resolved. */
const char *jw_malloc_conf;

#endif
