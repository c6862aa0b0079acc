/* prctl.h - options of prctl. */
#ifndef JW_MOCK_SYS_PRCTL_H
#define JW_MOCK_SYS_PRCTL_H

#define PR_SET_NAME 15
#define PR_SET_SECCOMP 22
#define PR_SET_NO_NEW_PRIVS 38
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0

#endif
