/* guest_filters.h - seccomp filters as sandboxes have them. `flags`: of seccomp(2). */
#ifndef JW_TESTS_PROCESS_GUEST_FILTERS_H
#define JW_TESTS_PROCESS_GUEST_FILTERS_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { CALLS_MAX = 32 };

static inline void filter_install(struct sock_filter *program, size_t length, unsigned long flags) {
    struct sock_fprog filter = {(unsigned short)length, program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter) != 0) check_skip("no seccomp filters here");
}

/* Kills the process for a mapping with flags that Chromium's filter does not know. */
static inline void filter_new_flags(unsigned long flags) {
    enum { OLD = MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE | MAP_FIXED | MAP_LOCKED };
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, ~(unsigned)OLD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    filter_install(program, sizeof program / sizeof *program, flags);
}

/* Kills the process for any call that is not in the list. */
static inline void filter_other_calls(const long *calls, size_t count, unsigned long flags) {
    struct sock_filter program[2 * CALLS_MAX + 2];
    size_t length = 0;
    filter_new_flags(flags);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter_install(program, length, flags);
}

/* Kills the process for a clone without the flags of pthread_create; clone3 is unknown. As Chromium's. */
static inline void filter_new_clones(void) {
    enum { OF_PTHREAD_CREATE = 0x3d0f00 };
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OF_PTHREAD_CREATE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    filter_install(program, sizeof program / sizeof *program, 0);
}

#endif
