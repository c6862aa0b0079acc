/* compiler.h - names for the few compiler extensions that the code relies on. */
#ifndef JW_COMPILER_H
#define JW_COMPILER_H

#include "base/atomics.h"
#include "base/near.h"

#define JW_EXPORT __attribute__((visibility("default")))
/* For use inside the library only: accessed without the global offset table. */
#define HIDDEN __attribute__((visibility("hidden")))
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE __attribute__((always_inline)) inline
#define COLD __attribute__((noinline, cold))
/* The few functions that are called all the time: beside each other, malloc and free from the start of a line of the
 * cache, the others (HIT_BESIDE) from any quarter of one. */
#define HIT_PATH __attribute__((section(".text.hot"), aligned(64)))
#define HIT_BESIDE __attribute__((section(".text.hot"), aligned(16)))
/* Of a function that ends the process, for callers on a hit path: it seems to return. Then it can be the last step, and
 * the caller needs no frame. */
#ifdef __clang__
#define LAST_STEP __attribute__((noinline, cold))
#else
#define LAST_STEP __attribute__((noipa, cold))
#endif
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define ASSUME(condition) ((condition) ? (void)0 : __builtin_unreachable())

/* The result of a function that is called, not inlined. Of a bool, AArch64 defines the lowest byte only, and each
 * caller clears the rest by an instruction of its own. The function must return 0 or 1: nothing converts the value
 * there. */
#ifdef __aarch64__
typedef uint32_t wide_bool;
#else
typedef bool wide_bool;
#endif

#ifndef JW_CHECKED
#define JW_CHECKED 0
#endif

/* Whether malloc verifies the links of small free objects (sync/free_link.h). */
#ifndef JW_LINK_CHECK
#define JW_LINK_CHECK 1
#endif

/* Whether jw_seal seals (core/sealed.h); else it refuses. */
#ifndef JW_SEAL
#define JW_SEAL 1
#endif

/* The hardened build (base/mitigations.h). */
#ifndef JW_SECURE
#define JW_SECURE 0
#endif

#endif
