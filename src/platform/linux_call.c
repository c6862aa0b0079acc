/* linux_call.c - the way into the kernel (linux_call.h). Not in linux.c: clients of the Linux layer have a kernel of
 * their own (verify/clients/kernel.h). */
#include "platform/linux_call.h"

#include "base/published.h"

_Atomic(size_t) linux_calls;
PUBLISHED(linux_calls);

// NOLINTNEXTLINE(readability-function-size): the kernel's six arguments
NOINLINE long enter_kernel(long a, long b, long c, long d, long e, long f, long number) {
    atomic_fetch_add_explicit(&linux_calls, 1, memory_order_relaxed);
    return raw_call(number, (const long[ARGUMENTS_MAX]){a, b, c, d, e, f});
}

NOINLINE long enter_kernel_shortly(long a, long b, long c, long number) {
    return enter_kernel(a, b, c, 0, 0, 0, number);
}
