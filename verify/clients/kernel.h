/* kernel.h - in place of platform/linux_call.h, for clients of the Linux layer: the kernel is theirs.
 *
 * Such a client includes this header, then one source of the layer, platform/linux*.c. So its system calls and libc's
 * functions become the client's. docs/verification.md says why; no other client includes a source. The client defines
 * kernel_call, and raw_thread where threads are made. It is linked without the model platform.
 */
#ifndef JW_LINUX_CALL_H
#define JW_LINUX_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

enum { KERNEL_SIGNAL_SET = 8, ARGUMENTS_MAX = 6 };
#define ARGUMENTS(...) ((const long[ARGUMENTS_MAX]){__VA_ARGS__})
#define ARGUMENT(value) ((long)(value))

extern _Atomic(size_t) linux_calls;

static long kernel_call(long number, const long arguments[ARGUMENTS_MAX]);

static inline bool kernel_failed(long result) {
    return result < 0;
}

#endif
