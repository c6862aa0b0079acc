/* linux_confine.c - the reclamation thread gives up what it does not need, before its first round.
 *
 *   its creator's scheduling class, niceness and processors     it must neither starve nor run before others
 *   all capabilities, the right to gain new ones by exec        libc's setuid does not know of this thread
 *   every system call that a round does not make                its user and groups then matter no more
 *
 * The first line: where real-time priorities are possible, and in a process that started as root. All lines: in a
 * process with more rights than an ordinary user's, and with reclaim_thread:true. Elsewhere the thread keeps what its
 * creator has: a sandbox may kill for these calls.
 *
 * An attacker that writes to the thread's stack gets only the calls that are left. They change the memory of this
 * process, but none makes memory executable; or they print a message and abort. A refused call fails with EPERM.
 */
#include "base/compiler.h"
#include "platform/features.h"
#include "platform/linux_call.h"
#include "platform/linux_start.h"
#include "platform/platform.h"

#if PLAIN_THREAD

bool platform_thread_confine(bool always) {
    (void)always;
    return true;
}

#else

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define OWN_ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__i386__)
#define OWN_ARCHITECTURE AUDIT_ARCH_I386
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_ARM
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define ALLOWED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSED_CALL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* Before and after each of these, the loaded word is the call's number. */
#define CALL(number) IF_EQUAL((number), 0, 1), ALLOWED
#define CALL_WITH(number, argument, value)                                                                             \
    IF_EQUAL((number), 0, 4), LOAD(args[argument]), IF_EQUAL((value), 0, 1), ALLOWED, REFUSED_CALL
#define CALL_WITHOUT(number, argument, bits)                                                                           \
    IF_EQUAL((number), 0, 4), LOAD(args[argument]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0), ALLOWED,       \
        REFUSED_CALL

/* misuse() and a broken invariant make the calls from SYS_write on: one line to standard error, then SIGABRT. */
static const struct sock_filter filter_program[] = {
    LOAD(arch),
    IF_EQUAL(OWN_ARCHITECTURE, 1, 0),
    REFUSED_CALL,
    LOAD(nr),
    CALL(SYS_pread64),
    CALL(SYS_statx),
    CALL(SYS_futex),
    CALL(SYS_madvise),
    CALL(SYS_munmap),
    CALL_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
    CALL_WITHOUT(RAW_MMAP, 2, PROT_EXEC),
    CALL(SYS_restart_syscall),
    CALL(SYS_exit),
    CALL_WITH(SYS_write, 0, 2),
    CALL(SYS_getpid),
    CALL(SYS_gettid),
    CALL(SYS_rt_sigprocmask),
    CALL_WITH(SYS_rt_sigaction, 0, SIGABRT),
    CALL(SYS_rt_sigreturn),
    CALL(SYS_exit_group),
    CALL_WITH(SYS_tgkill, 0, 0),
    REFUSED_CALL,
};
/* tgkill's first argument: the process, which the filter is told when it is installed. */
enum { PROGRAM_LENGTH = sizeof filter_program / sizeof *filter_program, PROCESS_AT = PROGRAM_LENGTH - 4 };
/* pread64 and statx: only where the thread reads the control group's files. Else these are the numbers of no call. */
enum { READ_AT = 4, IDENTIFY_AT = 6 };
#define NO_CALL UINT32_MAX

static wide_bool install_filter(uint32_t process) {
    struct sock_filter program[PROGRAM_LENGTH];
    memcpy(program, filter_program, sizeof program);
    program[PROCESS_AT].k = process;
    if (!process_watches_group()) program[READ_AT].k = program[IDENTIFY_AT].k = NO_CALL;
    struct sock_fprog filter = {PROGRAM_LENGTH, program};
    return kernel_call(SYS_prctl, ARGUMENTS(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ARGUMENT(&filter))) == 0;
}

static bool drop_rights(uint32_t process) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return kernel_call(SYS_capset, ARGUMENTS(ARGUMENT(&header), ARGUMENT(none))) == 0 &&
           kernel_call(SYS_prctl, ARGUMENTS(PR_SET_NO_NEW_PRIVS, 1)) == 0 && install_filter(process);
}

/* The niceness of the process's first thread, but at least 0. The kernel's answer is 20 - niceness. */
static void set_niceness(uint32_t process) {
    enum { USUAL = 20 };
    long first = kernel_call(SYS_getpriority, ARGUMENTS(PRIO_PROCESS, (long)process));
    long niceness = first > 0 && first < USUAL ? USUAL - first : 0;
    /* the kernel may refuse a lower niceness: then the thread keeps its own */
    kernel_call(SYS_setpriority, ARGUMENTS(PRIO_PROCESS, 0, niceness));
}

/* Asks for all processors: the kernel leaves out those that the process may not use. */
static wide_bool leave_creators_place(uint32_t process) {
    enum { WORDS = 128 };
    static const int32_t no_priority;
    unsigned long all[WORDS];
    memset(all, 0xff, sizeof all);
    long set = kernel_call(SYS_sched_setscheduler, ARGUMENTS(0, SCHED_NORMAL, ARGUMENT(&no_priority)));
    if (set != 0) {
        long class = kernel_call(SYS_sched_getscheduler, ARGUMENTS(0)) & ~(long)SCHED_RESET_ON_FORK;
        if (class != SCHED_NORMAL && class != SCHED_BATCH && class != SCHED_IDLE) return false;
    }
    set_niceness(process);
    return kernel_call(SYS_sched_setaffinity, ARGUMENTS(0, sizeof all, ARGUMENT(all))) == 0;
}

#ifdef SYS_getresuid32 /* the older calls have users of 16 bits */
#define RAW_GETRESUID SYS_getresuid32
#define RAW_GETRESGID SYS_getresgid32
#else
#define RAW_GETRESUID SYS_getresuid
#define RAW_GETRESGID SYS_getresgid
#endif

/* Whether real, effective and saved number are the same: then a thread without capabilities cannot have another one. */
static wide_bool is_for_good(long call, uint32_t *number) {
    uint32_t real = 0, effective = 0, saved = 0; /* a filter may say 0 and write nothing */
    *number = 0;
    if (kernel_call(call, ARGUMENTS(ARGUMENT(&real), ARGUMENT(&effective), ARGUMENT(&saved))) != 0) return false;
    *number = real;
    return real == effective && effective == saved;
}

static bool may_have_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3] = {{0}};
    own[0].permitted = UINT32_MAX; /* as above */
    if (kernel_call(SYS_capget, ARGUMENTS(ARGUMENT(&header), ARGUMENT(own))) != 0) return true;
    return (own[0].permitted | own[1].permitted) != 0;
}

/* A process that started as root is an ordinary user's if no thread of it can be root again. A thread that could would
 * keep this right when the program gives it up. */
static bool is_ordinary_for_good(void) {
    uint32_t user, group;
    return is_for_good(RAW_GETRESUID, &user) && user != 0 && is_for_good(RAW_GETRESGID, &group) &&
           !may_have_capabilities();
}

static bool still_privileged(struct rights before) {
    return before.any && !(before.of_root && is_ordinary_for_good());
}

bool platform_thread_confine(bool always) {
    struct rights before = rights_at_start();
    bool drop = always || still_privileged(before);
    if (!drop && !before.any && !before.realtime) return true; /* has made no call for which a filter may kill */
    uint32_t process = (uint32_t)kernel_call(SYS_getpid, ARGUMENTS(0));
    if (!leave_creators_place(process)) return false;
    if (!drop) return true;
    kernel_call(SYS_prctl, ARGUMENTS(PR_SET_NAME, ARGUMENT("jw-reclaim")));
    return drop_rights(process);
}

#endif
