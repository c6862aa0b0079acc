/* seccomp.h - for filters of system calls. */
#ifndef JW_MOCK_LINUX_SECCOMP_H
#define JW_MOCK_LINUX_SECCOMP_H

#include <stdint.h>

#define SECCOMP_MODE_FILTER 2
#define SECCOMP_RET_ERRNO 0x00050000
#define SECCOMP_RET_ALLOW 0x7fff0000
struct seccomp_data {
    int nr;
    uint32_t arch;
    uint64_t instruction_pointer, args[6];
};

#endif
