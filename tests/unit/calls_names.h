/* calls_names.h - how a transcript of system calls shows each call: its name, and a letter for each argument.
 *
 *     a address    s size        i number      x bits        t text       d descriptor   q thread or process
 *     S signals    T time        w bytes       v a number that the argument points to    - not shown
 *     H header and D data of capabilities      B count of bits            Z all zero?    F filter    C clone3's
 *     = the argument before, once more? */
#ifndef JW_TESTS_CALLS_NAMES_H
#define JW_TESTS_CALLS_NAMES_H

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef SYS_mmap2
#define CALL_MMAP SYS_mmap2
#else
#define CALL_MMAP SYS_mmap
#endif
#ifdef SYS_getresuid32
#define CALL_GETRESUID SYS_getresuid32
#define CALL_GETRESGID SYS_getresgid32
#else
#define CALL_GETRESUID SYS_getresuid
#define CALL_GETRESGID SYS_getresgid
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

enum { ANY = -1 };

/* first: the value of the first argument, for calls that are many in one. */
static const struct shown_call {
    long number, first;
    const char *name, *format;
} shown_calls[] = {
    {CALL_MMAP, ANY, "mmap", "asxx--"},
    {SYS_munmap, ANY, "munmap", "as"},
    {SYS_mprotect, ANY, "mprotect", "asx"},
    {SYS_madvise, ANY, "madvise", "asi"},
    {SYS_mremap, ANY, "mremap", "assxa"},
    {SYS_prctl, PR_SET_VMA, "name", "-iast"},
    {SYS_prctl, PR_SET_NAME, "thread-name", "-t"},
    {SYS_prctl, PR_SET_NO_NEW_PRIVS, "no-new-privs", "-iiii"},
    {SYS_prctl, PR_SET_SECCOMP, "seccomp", "-iF"},
    {SYS_prctl, ANY, "prctl", "iiiii"},
    {SYS_futex, ANY, "futex", "aiqT"},
#ifdef __x86_64__
    {SYS_clone, ANY, "clone", "xaa=a"}, /* the word to be cleared is the one to be written */
#else
    {SYS_clone, ANY, "clone", "xaaaa"},
#endif
    {SYS_clone3, ANY, "clone3", "Cs"},
    {SYS_rt_sigprocmask, ANY, "sigprocmask", "iSai"},
    {SYS_rt_sigpending, ANY, "sigpending", "ai"},
    {SYS_rt_sigtimedwait, ANY, "sigtimedwait", "SaTi"},
    {SYS_rt_sigaction, ANY, "sigaction", "iZai"},
    {SYS_write, ANY, "write", "dw"},
    {SYS_read, ANY, "read", "das"},
    {SYS_pread64, ANY, "pread64", "dasi"},
    {SYS_openat, ANY, "open", "itxx"},
    {SYS_close, ANY, "close", "d"},
    {SYS_fcntl, ANY, "fcntl", "dii"},
    {SYS_statx, ANY, "statx", "dtxxa"},
    {SYS_getrandom, ANY, "getrandom", "asx"},
    {SYS_prlimit64, ANY, "prlimit64", "iiaa"},
    {SYS_clock_gettime, ANY, "clock_gettime", "ia"},
    {SYS_getpid, ANY, "getpid", ""},
    {SYS_gettid, ANY, "gettid", ""},
    {SYS_tgkill, ANY, "tgkill", "qqi"},
    {SYS_exit, ANY, "exit", "i"},
    {SYS_exit_group, ANY, "exit_group", "i"},
    {SYS_capset, ANY, "capset", "HD"},
    {SYS_capget, ANY, "capget", "HD"},
    {SYS_getpriority, ANY, "getpriority", "iq"},
    {SYS_setpriority, ANY, "setpriority", "iqi"},
    {SYS_sched_setscheduler, ANY, "sched_setscheduler", "qiv"},
    {SYS_sched_getscheduler, ANY, "sched_getscheduler", "q"},
    {SYS_sched_setaffinity, ANY, "sched_setaffinity", "qsB"},
    {CALL_GETRESUID, ANY, "getresuid", "aaa"},
    {CALL_GETRESGID, ANY, "getresgid", "aaa"},
    {SYS_rt_sigreturn, ANY, "sigreturn", ""},
    {SYS_restart_syscall, ANY, "restart_syscall", ""},
};
enum { SHOWN_CALLS = sizeof shown_calls / sizeof *shown_calls };

static const struct shown_call *shown_call(long number, long first) {
    for (unsigned i = 0; i < SHOWN_CALLS; i++)
        if (shown_calls[i].number == number && (shown_calls[i].first == ANY || shown_calls[i].first == first))
            return &shown_calls[i];
    return NULL;
}

#endif
