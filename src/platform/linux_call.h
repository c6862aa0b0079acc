/* linux_call.h - system calls past libc: they return -errno, leave errno alone and need no thread-local storage. */
#ifndef JW_LINUX_CALL_H
#define JW_LINUX_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/compiler.h"

/* For the assembler code of a new thread: no frame is above its first one, so unwinders stop there. `return_address`:
 * the register's name in unwind tables. Both macros are empty where the compiler makes no such tables. */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define OUTERMOST_FRAME(return_address) ".cfi_remember_state\n\t.cfi_undefined " return_address "\n\t"
#define CALLERS_FRAME ".cfi_restore_state"
#else
#define OUTERMOST_FRAME(return_address)
#define CALLERS_FRAME
#endif

#if defined(__x86_64__) && defined(__LP64__)
#include "platform/arch_x86_64.h"
#elif defined(__aarch64__)
#include "platform/arch_aarch64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "platform/arch_riscv64.h"
#elif defined(__i386__)
#include "platform/arch_i386.h"
#elif defined(__arm__)
#include "platform/arch_arm.h"
#else
#error "jwmalloc has no system calls for this processor yet: add platform/arch_<name>.h"
#endif

enum { KERNEL_SIGNAL_SET = 8 }; /* bytes of the kernel's signal set, on every processor above */

extern _Atomic(size_t) linux_calls; /* system calls made so far */

/* ARGUMENTS: a system call's arguments; those left out are 0. ARGUMENT: a pointer or a number as one of them. */
enum { ARGUMENTS_MAX = 6 };
#define ARGUMENTS(...) ((const long[ARGUMENTS_MAX]){__VA_ARGS__})
#define ARGUMENT(value) ((long)(value))

/* With the number last, arguments that a function of ours passes on are in the kernel's registers already. */
long enter_kernel(long a, long b, long c, long d, long e, long f, long number);

/* The same with three zeros: most calls have at most three arguments, and each zero is an instruction of the caller. */
long enter_kernel_shortly(long a, long b, long c, long number);

static ALWAYS_INLINE long kernel_call(long number, const long arguments[ARGUMENTS_MAX]) {
    if (__builtin_constant_p(arguments[3] | arguments[4] | arguments[5]) &&
        (arguments[3] | arguments[4] | arguments[5]) == 0)
        return enter_kernel_shortly(arguments[0], arguments[1], arguments[2], number);
    return enter_kernel(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], number);
}

/* The kernel's errors are the last page of addresses. */
static inline bool kernel_failed(long result) {
    return (unsigned long)result > -4096ul;
}

#endif
