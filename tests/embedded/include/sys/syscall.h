/* syscall.h - numbers of the system calls. AArch64 and RISC-V 64 have the same. */
#ifndef JW_MOCK_SYS_SYSCALL_H
#define JW_MOCK_SYS_SYSCALL_H

#if defined(__x86_64__)
#define SYS_capset 126
#define SYS_clock_gettime 228
#define SYS_clone 56
#define SYS_close 3
#define SYS_exit 60
#define SYS_exit_group 231
#define SYS_fcntl 72
#define SYS_pread64 17
#define SYS_futex 202
#define SYS_capget 125
#define SYS_getresuid 118
#define SYS_getresgid 120
#define SYS_getpid 39
#define SYS_getpriority 140
#define SYS_getrandom 318
#define SYS_gettid 186
#define SYS_madvise 28
#define SYS_mmap 9
#define SYS_mprotect 10
#define SYS_mremap 25
#define SYS_munmap 11
#define SYS_openat 257
#define SYS_prctl 157
#define SYS_prlimit64 302
#define SYS_read 0
#define SYS_restart_syscall 219
#define SYS_rt_sigaction 13
#define SYS_rt_sigpending 127
#define SYS_rt_sigprocmask 14
#define SYS_rt_sigreturn 15
#define SYS_rt_sigtimedwait 128
#define SYS_sched_getscheduler 145
#define SYS_sched_setaffinity 203
#define SYS_sched_setscheduler 144
#define SYS_setpriority 141
#define SYS_statx 332
#define SYS_tgkill 234
#define SYS_write 1
#define SYS_wait4 61
#else
#define SYS_capset 91
#define SYS_clock_gettime 113
#define SYS_clone 220
#define SYS_close 57
#define SYS_exit 93
#define SYS_exit_group 94
#define SYS_fcntl 25
#define SYS_pread64 67
#define SYS_futex 98
#define SYS_capget 90
#define SYS_getresuid 148
#define SYS_getresgid 150
#define SYS_getpid 172
#define SYS_getpriority 141
#define SYS_getrandom 278
#define SYS_gettid 178
#define SYS_madvise 233
#define SYS_mmap 222
#define SYS_mprotect 226
#define SYS_mremap 216
#define SYS_munmap 215
#define SYS_openat 56
#define SYS_prctl 167
#define SYS_prlimit64 261
#define SYS_read 63
#define SYS_restart_syscall 128
#define SYS_rt_sigaction 134
#define SYS_rt_sigpending 136
#define SYS_rt_sigprocmask 135
#define SYS_rt_sigreturn 139
#define SYS_rt_sigtimedwait 137
#define SYS_sched_getscheduler 120
#define SYS_sched_setaffinity 122
#define SYS_sched_setscheduler 119
#define SYS_setpriority 140
#define SYS_statx 291
#define SYS_tgkill 131
#define SYS_write 64
#define SYS_wait4 260
#endif

#endif
