/* atomics.h - C11's atomic operations; on AArch64 by LSE where the processor has it, which is known at run time.
 *
 * The first AArch64 processors have only pairs of exclusive loads and stores. Such a pair may fail for as long as other
 * threads write to the word. LSE (Armv8.1) has one instruction for each operation. A build for all processors must ask
 * for it: with -moutline-atomics compilers call a function of theirs, which asks, for each operation. An ordinary call
 * may change half of the registers, so the library had 2.5 KB more text. Our functions (platform/lse.c) change only
 * their operands, x15 to x17 and x30, and the compiler knows that. So a call is shorter than the loop in its place.
 *
 *   w0 or x0   the expected value, or the operand of exchange, add, set, clear; then the value that the word had
 *   w1 or x1   the new value, of exchange_if
 *   x2         the word's address
 *   flag Z     after exchange_if: done
 *
 * Of orders the functions have two: "acquire" also serves relaxed, "both" also serves release; and add has relaxed.
 * Where no path that a program often waits for has the weaker one, there is only "both": 0.1 KB less text.
 * Words of other sizes, and xor, are the compiler's.
 *
 * A file that defines INLINE_ATOMICS before its includes makes no such call: core/free.c, because free's hit path for
 * another thread's object has an operation, and a call would cost it a stack frame.
 * None is made either where the build's processor has LSE, and for a tool that must see each operation. */
#ifndef JW_ATOMICS_H
#define JW_ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __SANITIZE_THREAD__
#define JW_LSE_CALLS 0
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define JW_LSE_CALLS 0
#endif
#endif
#ifndef JW_LSE_CALLS
#if defined __aarch64__ && !defined __ARM_FEATURE_ATOMICS
#define JW_LSE_CALLS 1
#else
#define JW_LSE_CALLS 0
#endif
#endif

#if JW_LSE_CALLS && !defined INLINE_ATOMICS

#define LSE_CLOBBERS "x16", "x17", "x30", "memory"

#define LSE_FUNCTION(name, bits)                                                                                       \
    static inline __attribute__((always_inline))                                                                       \
    uint##bits##_t lse_##name##_##bits(void *object, uint##bits##_t operand) {                                         \
        register uint##bits##_t first __asm__("x0") = operand;                                                         \
        register void *word __asm__("x2") = object;                                                                    \
        __asm__ volatile("bl jw_lse_" #name "_" #bits : "+r"(first) : "r"(word) : "x15", LSE_CLOBBERS);                \
        return first;                                                                                                  \
    }

#ifdef __GCC_ASM_FLAG_OUTPUTS__
#define LSE_DONE , "=@cceq"(done)
#define LSE_COMPARE(first, expected) (void)0
#define LSE_CONDITION
#else
#define LSE_DONE
#define LSE_COMPARE(first, expected) done = (first) == (expected)
#define LSE_CONDITION "cc",
#endif

/* Writes the value that the word had to *value, the expected one. True: it was that one, and is `desired` now. */
#define LSE_EXCHANGE_IF(name, bits)                                                                                    \
    static inline __attribute__((always_inline)) bool lse_##name##_##bits(void *object, uint##bits##_t *value,         \
                                                                          uint##bits##_t desired) {                    \
        register uint##bits##_t first __asm__("x0") = *value;                                                          \
        register uint##bits##_t second __asm__("x1") = desired;                                                        \
        register void *word __asm__("x2") = object;                                                                    \
        bool done;                                                                                                     \
        __asm__ volatile("bl jw_lse_" #name "_" #bits                                                                  \
                         : "+r"(first)LSE_DONE                                                                         \
                         : "r"(second), "r"(word)                                                                      \
                         : LSE_CONDITION LSE_CLOBBERS);                                                                \
        LSE_COMPARE(first, *value);                                                                                    \
        *value = first;                                                                                                \
        return done;                                                                                                   \
    }

#define LSE_SIZES(define, name) define(name, 32) define(name, 64)
LSE_FUNCTION(add_relaxed, 64)
LSE_SIZES(LSE_FUNCTION, add_both)
LSE_FUNCTION(exchange_acquire, 32)
LSE_SIZES(LSE_FUNCTION, exchange_both)
LSE_SIZES(LSE_FUNCTION, set_both)
LSE_SIZES(LSE_FUNCTION, clear_both)
LSE_EXCHANGE_IF(exchange_if_acquire, 32)
LSE_SIZES(LSE_EXCHANGE_IF, exchange_if_both)

#define LSE_RELEASES(order) ((order) == __ATOMIC_RELEASE || (order) >= __ATOMIC_ACQ_REL)

/* A word of 32 or 64 bits. The operation's own type may be a pointer or a structure. */
#define LSE_APPLY(narrow, wide, size, object, value)                                                                   \
    do {                                                                                                               \
        uint64_t raw_ = 0;                                                                                             \
        __builtin_memcpy(&raw_, value, size);                                                                          \
        if ((size) == sizeof raw_) raw_ = lse_##wide##_64(object, raw_);                                               \
        else raw_ = lse_##narrow##_32(object, (uint32_t)raw_);                                                         \
        __builtin_memcpy(value, &raw_, size);                                                                          \
    } while (0)

static inline __attribute__((always_inline)) void lse_add(void *object, void *value, size_t size, int order) {
    if (order == memory_order_relaxed) LSE_APPLY(add_both, add_relaxed, size, object, value);
    else LSE_APPLY(add_both, add_both, size, object, value);
}

static inline __attribute__((always_inline)) void lse_exchange(void *object, void *value, size_t size, int order) {
    if (LSE_RELEASES(order)) LSE_APPLY(exchange_both, exchange_both, size, object, value);
    else LSE_APPLY(exchange_acquire, exchange_both, size, object, value);
}

static inline __attribute__((always_inline)) void lse_set(void *object, void *value, size_t size, int order) {
    (void)order;
    LSE_APPLY(set_both, set_both, size, object, value);
}

static inline __attribute__((always_inline)) void lse_clear(void *object, void *value, size_t size, int order) {
    (void)order;
    LSE_APPLY(clear_both, clear_both, size, object, value);
}

static inline __attribute__((always_inline)) bool lse_exchange_if(void *object, void *value, const void *desired,
                                                                  size_t size, int order) {
    uint64_t expected = 0, new = 0;
    __builtin_memcpy(&expected, value, size);
    __builtin_memcpy(&new, desired, size);
    uint32_t narrow = (uint32_t)expected;
    bool done;
    if (size == 8) done = lse_exchange_if_both_64(object, &expected, new);
    else if (LSE_RELEASES(order)) done = lse_exchange_if_both_32(object, &narrow, (uint32_t) new);
    else done = lse_exchange_if_acquire_32(object, &narrow, (uint32_t) new);
    if (size != 8) expected = narrow;
    __builtin_memcpy(value, &expected, size);
    return done;
}

/* An operation of C11: `value` is what it takes, and then its result. */
#define LSE_FETCH(function, object, value, order)                                                                      \
    __extension__({                                                                                                    \
        __auto_type object_ = (object);                                                                                \
        __typeof__((void)0, *object_) value_ = (value);                                                                \
        _Static_assert(sizeof value_ == 4 || sizeof value_ == 8, "there is a function for this size");                 \
        function((void *)object_, &value_, sizeof value_, order);                                                      \
        value_;                                                                                                        \
    })
#define LSE_FETCH_IF(object, expected, desired, success, failure)                                                      \
    __extension__({                                                                                                    \
        __auto_type expected_ = (expected);                                                                            \
        __typeof__(*expected_) desired_ = (desired);                                                                   \
        _Static_assert(sizeof desired_ == 4 || sizeof desired_ == 8, "there is a function for this size");             \
        (void)(failure); /* no order: acquire */                                                                       \
        lse_exchange_if((void *)(object), expected_, &desired_, sizeof desired_, success);                             \
    })

#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit
#define atomic_fetch_add_explicit(object, value, order) LSE_FETCH(lse_add, object, value, order)
#define atomic_fetch_sub_explicit(object, value, order) LSE_FETCH(lse_add, object, 0 - (value), order)
#define atomic_fetch_or_explicit(object, value, order) LSE_FETCH(lse_set, object, value, order)
#define atomic_fetch_and_explicit(object, value, order) LSE_FETCH(lse_clear, object, ~(value), order)
#define atomic_exchange_explicit(object, value, order) LSE_FETCH(lse_exchange, object, value, order)
#define atomic_compare_exchange_strong_explicit LSE_FETCH_IF
#define atomic_compare_exchange_weak_explicit LSE_FETCH_IF

#endif

/* A relaxed load or store of GCC takes an address without an offset, so each field of a structure costs an instruction
 * more. A volatile access of the word is as good: it is one instruction, and the compiler neither repeats it nor leaves
 * it out. GCC moves no access to memory over an acquire before it or a release behind it.
 * relaxed_load and relaxed_store do the same for plain words, which other threads access in this way, too. */
#if JW_LSE_CALLS && !defined __clang__ && defined __OPTIMIZE__

#define WORD_OF(bits)                                                                                                  \
    typedef uint##bits##_t __attribute__((may_alias)) word_of_##bits;                                                  \
    static inline __attribute__((always_inline)) void load_##bits(const volatile void *object, void *value) {          \
        uint##bits##_t raw = *(const volatile word_of_##bits *)object;                                                 \
        __builtin_memcpy(value, &raw, sizeof raw);                                                                     \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void store_##bits(volatile void *object, const void *value) {         \
        uint##bits##_t raw;                                                                                            \
        __builtin_memcpy(&raw, value, sizeof raw);                                                                     \
        *(volatile word_of_##bits *)object = raw;                                                                      \
    }
WORD_OF(8)
WORD_OF(16)
WORD_OF(32)
WORD_OF(64)

#define BY_SIZE(act, object, value)                                                                                    \
    (sizeof *(value) == 1   ? act##_8(object, value)                                                                   \
     : sizeof *(value) == 2 ? act##_16(object, value)                                                                  \
     : sizeof *(value) == 4 ? act##_32(object, value)                                                                  \
                            : act##_64(object, value))

#undef atomic_load_explicit
#undef atomic_store_explicit
#define atomic_load_explicit(object, order)                                                                            \
    __extension__({                                                                                                    \
        __auto_type object_ = (object);                                                                                \
        __typeof__((void)0, *object_) value_;                                                                          \
        _Static_assert(sizeof value_ <= 8, "one word");                                                                \
        if ((order) == memory_order_relaxed) BY_SIZE(load, object_, &value_);                                          \
        else __atomic_load(object_, &value_, order);                                                                   \
        value_;                                                                                                        \
    })
#define atomic_store_explicit(object, value, order)                                                                    \
    __extension__({                                                                                                    \
        __auto_type object_ = (object);                                                                                \
        __typeof__((void)0, *object_) value_ = (value);                                                                \
        _Static_assert(sizeof value_ <= 8, "one word");                                                                \
        if ((order) == memory_order_relaxed) BY_SIZE(store, object_, &value_);                                         \
        else __atomic_store(object_, &value_, order);                                                                  \
    })

#define relaxed_load(object) (*(const volatile __typeof__(*(object)) *)(object))
#define relaxed_store(object, value) ((void)(*(volatile __typeof__(*(object)) *)(object) = (value)))

#else

#define relaxed_load(object) __atomic_load_n(object, __ATOMIC_RELAXED)
#define relaxed_store(object, value) __atomic_store_n(object, value, __ATOMIC_RELAXED)

#endif
#endif
