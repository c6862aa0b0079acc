/* supervisor.c - the filter of system calls, the thread that answers it, and the calls that it tells apart. */
#include "supervisor.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1
#endif
/* 32-bit Linux still has an mmap that nobody calls. */
#ifdef SYS_mmap2
#define MMAP_CALL SYS_mmap2
#else
#define MMAP_CALL SYS_mmap
#endif

struct site sites[SITES_MAX];
_Atomic(uint32_t) site_count, calls_seen, calls_refused;
struct plan plan;

static const struct {
    uint32_t call;
    const char *name;
} supervised[] = {{MMAP_CALL, "mmap"},  {SYS_munmap, "munmap"}, {SYS_madvise, "madvise"}, {SYS_mremap, "mremap"},
                  {SYS_clone, "clone"}, {SYS_futex, "futex"},   {SYS_prctl, "prctl"},     {SYS_mprotect, "mprotect"}};
enum { SUPERVISED = sizeof supervised / sizeof *supervised };

static _Atomic(int) listener;
static _Atomic(bool) finished;
static uint64_t random_state = 1;

const char *call_name(uint32_t call) {
    for (unsigned i = 0; i < SUPERVISED; i++)
        if (supervised[i].call == call) return supervised[i].name;
    return "?";
}

/* The code of the module that has malloc. Asked once: the loader's locks may be held by a thread that waits for us. */
static struct range {
    uintptr_t first, end;
} code;

static int note_code(struct dl_phdr_info *module, size_t size, void *wanted) {
    (void)size;
    for (unsigned i = 0; i < module->dlpi_phnum; i++) {
        struct range found = {module->dlpi_addr + module->dlpi_phdr[i].p_vaddr, 0};
        found.end = found.first + module->dlpi_phdr[i].p_memsz;
        if ((uintptr_t)wanted >= found.first && (uintptr_t)wanted < found.end && module->dlpi_phdr[i].p_type == PT_LOAD)
            code = found;
    }
    return 0;
}

static uint32_t find_site(uint32_t call, uintptr_t address) {
    uint32_t i = 0;
    while (i < site_count && (sites[i].address != address || sites[i].call != call)) i++;
    CHECK(i < SITES_MAX);
    sites[i].call = call;
    sites[i].address = address;
    if (i == site_count) site_count++;
    return i;
}

/* 0: it goes through. */
static int decide(uint32_t site, uint32_t number) {
    static const int errors[] = {ENOMEM, EPERM, EAGAIN};
    bool fails = false;
    switch (plan.kind) {
    case ALL_SUCCEED: break;
    case ONE_SITE_FAILS: fails = site == plan.which; break;
    case ONE_CALL_FAILS: fails = number == plan.which; break;
    case SOME_FAIL: fails = random_below(&random_state, plan.which) == 0; break;
    }
    if (!fails) return 0;
    sites[site].refused++;
    calls_refused++;
    return plan.error != 0 ? plan.error : errors[random_below(&random_state, 3)];
}

static void answer(int file) {
    struct seccomp_notif notice;
    memset(&notice, 0, sizeof notice);
    if (ioctl(file, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) return;
    struct seccomp_notif_resp response = {.id = notice.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    uintptr_t address = (uintptr_t)notice.data.instruction_pointer;
    if (address >= code.first && address < code.end) {
        uint32_t site = find_site((uint32_t)notice.data.nr, address);
        sites[site].calls++;
        int error = decide(site, ++calls_seen);
        if (error != 0) {
            response.flags = 0;
            response.error = -error;
        }
    }
    ioctl(file, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static int install_filter(void) {
    struct sock_filter code[SUPERVISED + 3] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (unsigned i = 0; i < SUPERVISED; i++)
        code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, supervised[i].call, SUPERVISED - i, 0);
    code[SUPERVISED + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[SUPERVISED + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void *run_supervised(void *work) {
    int file = install_filter();
    if (file < 0) check_skip("the kernel has no seccomp user notification here");
    atomic_store(&listener, file);
    ((void *(*)(void *))work)(NULL);
    atomic_store(&finished, true);
    return NULL;
}

void supervise(void *(*work)(void *)) {
    pthread_t thread;
    dl_iterate_phdr(note_code, dlsym(RTLD_DEFAULT, "malloc"));
    CHECK(pthread_create(&thread, NULL, run_supervised, (void *)work) == 0);
    while (atomic_load(&listener) == 0) usleep(1000); /* its calls wait for this thread: no futex */
    while (!atomic_load(&finished)) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (poll(&ready, 1, 100) > 0) answer(listener);
    }
}
