/* instructions.h - steps of the hit paths of malloc and free in assembler, where compilers do not find the best code.
 * Each function has a form in C, too: it says what the function does, and every other processor uses it.
 *
 * Checked builds use the C forms, because the model checker and the sanitizers cannot see into assembler. Where a
 * processor has its own form, ./jw check instructions proves the two equal (docs/verification.md), and
 * tests/unit/instructions_test.c runs both.
 */
#ifndef JW_INSTRUCTIONS_H
#define JW_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "platform/features.h"

/* 32 bits at any address that a program frees. */
typedef uint32_t __attribute__((may_alias, aligned(1))) any_half;

/* word_is: whether the word in memory has that value; relaxed. GCC would load an atomic word, and compute its address,
 * by separate instructions. */
static ALWAYS_INLINE bool word_is_in_c(const uintptr_t *word, uint64_t value) {
    return relaxed_load(word) == (uintptr_t)value;
}

#if JW_X86_64_FORMS
static ALWAYS_INLINE bool word_is_in_asm(const uintptr_t *word, uint64_t value) {
    bool same;
    __asm__("cmpq %[value], %[word]" : "=@cce"(same) : [word] "m"(*word), [value] "re"(value) : "cc");
    return same;
}
#elif defined __aarch64__
static ALWAYS_INLINE bool word_is_in_asm(const uintptr_t *word, uint64_t value) {
    uintptr_t loaded;
    __asm__("ldr %[loaded], %[word]" : [loaded] "=r"(loaded) : [word] "m"(*word));
    return loaded == value;
}
#endif

/* word_load: loads the word, relaxed. It is in assembler for the same reason as word_is. */
static ALWAYS_INLINE uintptr_t word_load(const uintptr_t *word) {
#if defined __aarch64__ && !JW_CHECKED
    uintptr_t loaded;
    __asm__("ldr %[loaded], %[word]" : [loaded] "=r"(loaded) : [word] "m"(*word));
    return loaded;
#else
    return relaxed_load(word);
#endif
}

/* byte_load: loads the byte, relaxed. It is in assembler for the same reason as word_is. */
static ALWAYS_INLINE uintptr_t byte_load_in_c(const uint8_t *byte) {
    return relaxed_load(byte);
}

#if JW_X86_64_FORMS
static ALWAYS_INLINE uintptr_t byte_load_in_asm(const uint8_t *byte) {
    uintptr_t loaded;
    __asm__("movzbl %[byte], %k[loaded]" : [loaded] "=r"(loaded) : [byte] "m"(*byte));
    return loaded;
}
#elif defined __aarch64__
static ALWAYS_INLINE uintptr_t byte_load_in_asm(const uint8_t *byte) {
    uintptr_t loaded;
    __asm__("ldrb %w[loaded], %[byte]" : [loaded] "=r"(loaded) : [byte] "m"(*byte));
    return loaded;
}
#endif

/* difference_less_borrow: address - *origin, and 1 less where the half word is below the mark. This is a subtraction
 * with the borrow of another one, which GCC does not find for x86-64. The mark is a constant. `shared`: another thread
 * may write the origin; the load is relaxed. */
static ALWAYS_INLINE uintptr_t difference_less_borrow_in_c(uintptr_t address, const uintptr_t *origin, bool shared,
                                                           const any_half *half, uint32_t mark) {
    uint32_t unused;
    uintptr_t from = shared ? word_load(origin) : *origin;
    return address - __builtin_sub_overflow(*half, mark, &unused) - from;
}

#if JW_X86_64_FORMS
static ALWAYS_INLINE uintptr_t difference_less_borrow_in_asm(uintptr_t address, const uintptr_t *origin, bool shared,
                                                             const any_half *half, uint32_t mark) {
    (void)shared; /* the same instruction */
    __asm__("cmpl %[mark], %[half]\n\tsbbq %[origin], %[address]"
            : [address] "+r"(address)
            : [origin] "m"(*origin), [half] "m"(*half), [mark] "i"(mark)
            : "cc");
    return address;
}
#endif

/* product_is_at_most: whether value * *factor is at most *most. Both loads are relaxed. */
static ALWAYS_INLINE bool product_is_at_most_in_c(uintptr_t value, const uintptr_t *factor, const uintptr_t *most) {
    return value * word_load(factor) <= word_load(most);
}

#if JW_X86_64_FORMS
static ALWAYS_INLINE bool product_is_at_most_in_asm(uintptr_t value, const uintptr_t *factor, const uintptr_t *most) {
    bool so;
    __asm__("imulq %[factor], %[value]\n\tcmpq %[value], %[most]"
            : "=@ccae"(so), [value] "+&r"(value)
            : [factor] "m"(*factor), [most] "m"(*most));
    return so;
}
#endif

/* count_down: takes 1 from the count, which other threads may read. True: it is 0 now, or `value` is above *most. One
 * condition for both: x86-64's decrement leaves the compare's carry alone. */
// NOLINTNEXTLINE(readability-non-const-parameter): it writes to the count
static ALWAYS_INLINE bool count_down_in_c(uint16_t *count, uintptr_t value, const uintptr_t *most) {
    uint16_t left = (uint16_t)(*count - 1);
    relaxed_store(count, left);
    return value > *most || left == 0;
}

#if JW_X86_64_FORMS
// NOLINTNEXTLINE(readability-non-const-parameter): as above
static ALWAYS_INLINE bool count_down_in_asm(uint16_t *count, uintptr_t value, const uintptr_t *most) {
    bool so;
    __asm__("cmpq %[value], %[most]\n\tdecw %[count]"
            : "=@ccbe"(so), [count] "+m"(*count)
            : [value] "r"(value), [most] "m"(*most));
    return so;
}
#endif

/* computed_now: the value itself. Forces it into a register at this point, so that later results can reuse that
 * register. */
static ALWAYS_INLINE uint64_t computed_now(uint64_t value) {
#if !JW_CHECKED
    __asm__("" : "+r"(value));
#endif
    return value;
}

/* Two words at once. */
typedef uint64_t word_pair __attribute__((vector_size(16), may_alias, aligned(16)));

static ALWAYS_INLINE void pair_computed_now(word_pair *value) {
#if defined __x86_64__ && !JW_CHECKED
    __asm__("" : "+x"(*value));
#elif defined __aarch64__ && !JW_CHECKED
    __asm__("" : "+w"(*value));
#endif
    (void)value;
}

static ALWAYS_INLINE uint32_t half_computed_now(uint32_t value) {
#if !JW_CHECKED
    __asm__("" : "+r"(value));
#endif
    return value;
}

/* For signal handlers of the same thread: what stands before it has been loaded and stored, nothing behind it. */
static ALWAYS_INLINE void signals_see_order(void) {
    __asm__ volatile("" ::: "memory");
}

/* The forms of this build. */
#if (JW_X86_64_FORMS || defined __aarch64__) && !JW_CHECKED
#define word_is word_is_in_asm
#define byte_load byte_load_in_asm
#else
#define word_is word_is_in_c
#define byte_load byte_load_in_c
#endif

#if JW_X86_64_FORMS && !JW_CHECKED
#define difference_less_borrow difference_less_borrow_in_asm
#define product_is_at_most product_is_at_most_in_asm
#define count_down count_down_in_asm
#else
#define difference_less_borrow difference_less_borrow_in_c
#define product_is_at_most product_is_at_most_in_c
#define count_down count_down_in_c
#endif

#endif
