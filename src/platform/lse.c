/* lse.c - AArch64's functions of base/atomics.h: atomic operations by LSE, or by pairs of exclusive loads and stores.
 *
 * They are called by `bl` in an assembler statement, which names what they change: their operands, x15 to x17, x30.
 * Until lse_start has been called they use pairs. Both forms may be used for the same word at the same time. */
#include "platform/lse.h"

#if JW_LSE_CALLS

#include <sys/auxv.h>

/* Read by the functions below, so the compiler must neither rename it nor keep it elsewhere. */
__attribute__((used)) uint32_t jw_lse_is_there;

void lse_start(void) {
    enum { HAS_ATOMICS = 1 << 8 };
    if (getauxval(AT_HWCAP) & HAS_ATOMICS) jw_lse_is_there = 1;
}

#ifdef __AARCH64_CMODEL_TINY__
#define FLAG "    ldr w16, jw_lse_is_there\n"
#else
#define FLAG                                                                                                           \
    "    adrp x16, jw_lse_is_there\n"                                                                                  \
    "    ldr w16, [x16, :lo12:jw_lse_is_there]\n"
#endif

/* A function: its name, what it does first, by LSE, and by pairs. */
#define WHOLE_FUNCTION(name, first, lse, pairs)                                                                        \
    ".globl jw_lse_" name "\n"                                                                                         \
    ".hidden jw_lse_" name "\n"                                                                                        \
    ".type jw_lse_" name ", %function\n"                                                                               \
    "jw_lse_" name ":\n" first FLAG "cbz w16, 1f\n"                                                                    \
    ".arch_extension lse\n" lse "\n"                                                                                   \
    ".arch_extension nolse\n"                                                                                          \
    "ret\n"                                                                                                            \
    "1: " pairs "ret\n"                                                                                                \
    ".size jw_lse_" name ", . - jw_lse_" name "\n"
/* The same, where the pair is tried again until its store succeeds. Register 17 says so; 16 has the old value then. */
#define FUNCTION(name, r, lse, pair) WHOLE_FUNCTION(name, "", lse, pair "cbnz w17, 1b\nmov " r "0, " r "16\n")

/* r: w or x, the registers' size. letters: of LSE's instruction; a, l: of the pair's load and store. */
#define FETCH(name, r, lse, change, letters, a, l)                                                                     \
    FUNCTION(name, r, lse letters " " r "0, " r "0, [x2]",                                                             \
             "ld" a "xr " r "16, [x2]\n" change " " r "15, " r "16, " r "0\n"                                          \
             "st" l "xr w17, " r "15, [x2]\n")
#define EXCHANGE(name, r, letters, l)                                                                                  \
    FUNCTION(name, r, "swp" letters " " r "0, " r "0, [x2]",                                                           \
             "ldaxr " r "16, [x2]\n"                                                                                   \
             "st" l "xr w17, " r "0, [x2]\n")
#define EXCHANGE_IF(name, r, letters, l)                                                                               \
    WHOLE_FUNCTION(name, "mov " r "17, " r "0\n",                                                                      \
                   "cas" letters " " r "0, " r "1, [x2]\n"                                                             \
                   "cmp " r "0, " r "17",                                                                              \
                   "ldaxr " r "0, [x2]\n"                                                                              \
                   "cmp " r "0, " r "17\n"                                                                             \
                   "b.ne 2f\n"                                                                                         \
                   "st" l "xr w16, " r "1, [x2]\n"                                                                     \
                   "cbnz w16, 1b\n"                                                                                    \
                   "2: ")
#define BOTH_SIZES(define, name, ...) define(name "_32", "w", __VA_ARGS__) define(name "_64", "x", __VA_ARGS__)

/* None changes the stack or x30, so one entry of the unwind tables serves all. */
__asm__(".pushsection .text\n"
        ".balign 4\n"
        ".cfi_startproc\n" /* clang-format off: one a line */
        FETCH("add_relaxed_64", "x", "ldadd", "add", "", "", "") BOTH_SIZES(FETCH, "add_both", "ldadd", "add", "al",
                                                                            "a", "l")
            BOTH_SIZES(FETCH, "set_both", "ldset", "orr", "al", "a", "l") BOTH_SIZES(FETCH, "clear_both", "ldclr",
                                                                                     "bic", "al", "a", "l")
                EXCHANGE("exchange_acquire_32", "w", "a", "") BOTH_SIZES(EXCHANGE, "exchange_both", "al", "l")
                    EXCHANGE_IF("exchange_if_acquire_32", "w", "a", "")
                        BOTH_SIZES(EXCHANGE_IF, "exchange_if_both", "al", "l") ".cfi_endproc\n" /* clang-format on */
                                                                               ".popsection");

#endif
