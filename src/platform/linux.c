/* linux.c - limits, clock, numbers of threads and random ones, output and abort on Linux. Memory and threads have their
 * own files. */
#define _GNU_SOURCE 1 /* environ, AT_EMPTY_PATH, the recursive mutex's initializer, gettid */
#include "base/compiler.h"
#include "base/mixed.h"
#include "platform/host.h"
#include "platform/linux_call.h"
#include "platform/linux_start.h"
#include "platform/platform.h"
#include "platform/platform_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <linux/stat.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

NOINLINE size_t platform_page_size(void) {
    static _Atomic(size_t) known;
    size_t size = atomic_load_explicit(&known, memory_order_relaxed);
    if (LIKELY(size != 0)) return size;
    size = getauxval(AT_PAGESZ);
    if (size == 0) size = 4096; /* the kernel always tells; an emulator might not */
    atomic_store_explicit(&known, size, memory_order_relaxed);
    return size;
}

static size_t limit_of(int resource) {
    uint64_t limit[2] = {0}; /* soft, hard */
    if (kernel_call(SYS_prlimit64, ARGUMENTS(0, resource, 0, ARGUMENT(limit))) != 0) return SIZE_MAX;
    return limit[0] < SIZE_MAX ? (size_t)limit[0] : SIZE_MAX;
}

size_t platform_address_limit(void) {
    size_t all = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
    return all < data ? all : data;
}

uint64_t platform_milliseconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* code of the kernel's vDSO; a system call where there is none */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t platform_microseconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#if !JW_HOSTED
#include <pthread.h>

/* Makes no system call: glibc writes the number of the locking thread into a recursive mutex. bionic and musl keep the
 * number. */
uint32_t platform_thread_id(void) {
#if defined(__GLIBC__)
    pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    if (pthread_mutex_lock(&mutex) != 0) return 0;
    uint32_t number = (uint32_t)mutex.__data.__owner;
    pthread_mutex_unlock(&mutex);
    return number;
#else
    return (uint32_t)gettid();
#endif
}

#endif

/* Fallback before the kernel's random numbers are ready: AT_RANDOM, mixed so that two calls differ. */
static uint64_t random_without_kernel(void) {
    static _Atomic(uint32_t) calls;
    uint64_t at_random = 0;
    const void *bytes = (const void *)getauxval(AT_RANDOM);
    if (bytes != NULL) memcpy(&at_random, bytes, sizeof at_random);
    at_random ^= platform_milliseconds() << 20 ^ platform_thread_id();
    at_random += (atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15u;
    return mixed(at_random); /* splitmix64 */
}

uint64_t platform_random(void) {
    uint64_t bits = 0;
    long got = kernel_call(SYS_getrandom, ARGUMENTS(ARGUMENT(&bits), sizeof bits, GRND_NONBLOCK));
    return got == sizeof bits ? bits : random_without_kernel();
}

/* Drawn at the start: later the program's sandbox may kill the process for the system call. */
static _Atomic(uint64_t) place_state;

void random_places_start(void) {
    atomic_store_explicit(&place_state, platform_random(), memory_order_relaxed);
}

uint64_t platform_random_place(void) {
    return mixed(atomic_fetch_add_explicit(&place_state, 0x9e3779b97f4a7c15u, memory_order_relaxed)) | 1;
}

bool platform_is_privileged(void) {
    return getauxval(AT_SECURE) != 0;
}

wide_bool platform_thread_lives(uint32_t number) {
    long process = kernel_call(SYS_getpid, ARGUMENTS(0));
    return kernel_call(SYS_tgkill, ARGUMENTS(process, number, 0)) == 0;
}

char **platform_environment(void) {
    return environ;
}

size_t platform_read_file(const char *path, char *buffer, size_t size) {
    long file = kernel_call(SYS_openat, ARGUMENTS(AT_FDCWD, ARGUMENT(path), O_RDONLY | O_CLOEXEC));
    if (kernel_failed(file)) return 0;
    size_t length = 0;
    while (length < size) {
        long got = kernel_call(SYS_read, ARGUMENTS(file, ARGUMENT(buffer + length), ARGUMENT(size - length)));
        if (got == -EINTR) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    kernel_call(SYS_close, ARGUMENTS(file));
    return length;
}

/* A second descriptor of standard error, and the identity of its file. A program may close all descriptors and get this
 * number for another file, which must not get our text. */
struct kept_file {
    _Atomic(long) descriptor; /* 0: none */
    struct statx file;
};
static struct kept_file kept_output, report_output;

static wide_bool identify_file(long descriptor, struct statx *file) {
    return kernel_call(SYS_statx, ARGUMENTS(descriptor, ARGUMENT(""), AT_EMPTY_PATH, STATX_INO, ARGUMENT(file))) == 0;
}

static void keep_file(struct kept_file *kept, long descriptor) {
    if (!identify_file(descriptor, &kept->file)) return;
    long copy = kernel_call(SYS_fcntl, ARGUMENTS(descriptor, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY));
    if (kernel_failed(copy)) return;
    /* [OU1] release: the file's identity; pairs [OU2]; client kept_output */
    atomic_store_explicit(&kept->descriptor, copy, memory_order_release);
}

void platform_keep_output(const char *report) {
    enum { ONLY_THE_OWNERS = 0600 };
    keep_file(&kept_output, STDERR_FILENO);
    if (report == NULL) return;
    long file = kernel_call(SYS_openat, ARGUMENTS(AT_FDCWD, ARGUMENT(report),
                                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                                                  ONLY_THE_OWNERS));
    if (kernel_failed(file)) return;
    keep_file(&report_output, file);
    kernel_call(SYS_close, ARGUMENTS(file));
}

/* [OU2] acquire: the file's identity; pairs [OU1]; client kept_output */
static long kept_descriptor(const struct kept_file *kept) {
    return atomic_load_explicit(&kept->descriptor, memory_order_acquire);
}

/* Whether the descriptor refers to the file that was kept. */
static wide_bool has_kept_file(long descriptor, const struct kept_file *kept) {
    struct statx now = {0};
    const struct statx *then = &kept->file;
    return identify_file(descriptor, &now) && now.stx_ino == then->stx_ino &&
           now.stx_dev_major == then->stx_dev_major && now.stx_dev_minor == then->stx_dev_minor;
}

/* The descriptor, if it still refers to that file; else standard error. */
static long still_kept(const struct kept_file *kept) {
    long copy = kept_descriptor(kept);
    return copy != 0 && has_kept_file(copy, kept) ? copy : STDERR_FILENO;
}

/* Standard error, or its copy if only the copy is still open. */
static long open_output(void) {
    struct statx now = {0};
    if (atomic_load_explicit(&kept_output.descriptor, memory_order_relaxed) == 0) return STDERR_FILENO;
    return identify_file(STDERR_FILENO, &now) ? STDERR_FILENO : still_kept(&kept_output);
}

static void write_all(long output, const char *text, size_t length) {
    while (length > 0) {
        long written = kernel_call(SYS_write, ARGUMENTS(output, ARGUMENT(text), ARGUMENT(length)));
        if (written == -EINTR) continue;
        if (written <= 0) return; /* closed, or full and non-blocking: the error cannot be reported anywhere */
        text += written;
        length -= (size_t)written;
    }
}

void platform_write(const char *text, size_t length) {
    write_all(open_output(), text, length);
}

/* A reader that is gone must not end the program: SIGPIPE is blocked, and taken back if the write has raised it. */
static void write_without_signal(long output, const char *text, size_t length) {
    uint64_t pipe_only = (uint64_t)1 << (SIGPIPE - 1), before = 0, pending = 0;
    kernel_call(SYS_rt_sigprocmask, ARGUMENTS(SIG_BLOCK, ARGUMENT(&pipe_only), ARGUMENT(&before), KERNEL_SIGNAL_SET));
    kernel_call(SYS_rt_sigpending, ARGUMENTS(ARGUMENT(&pending), KERNEL_SIGNAL_SET));
    write_all(output, text, length);
    static const long at_once[2];
    if (!(pending & pipe_only))
        kernel_call(SYS_rt_sigtimedwait, ARGUMENTS(ARGUMENT(&pipe_only), 0, ARGUMENT(at_once), KERNEL_SIGNAL_SET));
    kernel_call(SYS_rt_sigprocmask, ARGUMENTS(SIG_SETMASK, ARGUMENT(&before), 0, KERNEL_SIGNAL_SET));
}

/* Writes only to files that the program or its user meant for the report: by now any file may be open as standard
 * error. */
void platform_write_report(const char *text, size_t length) {
    struct statx now = {0};
    long report = still_kept(&report_output);
    if (report == STDERR_FILENO && !identify_file(STDERR_FILENO, &now)) report = still_kept(&kept_output);
    if (report != STDERR_FILENO || (kept_descriptor(&kept_output) != 0 && has_kept_file(STDERR_FILENO, &kept_output)))
        write_without_signal(report, text, length);
}

/* --- the control group */

enum { GROUP_USED, GROUP_MOST, GROUP_HIGH, GROUP_STAT, GROUP_STALLS, GROUP_FILES, GROUP_TEXT = 1024, GROUP_PATH = 512 };

enum { ALL_STALLS = GROUP_FILES, KEPT_FILES }; /* behind the group's files that of the whole system */

/* A dozen lines, one of each hierarchy, with the longest paths that we follow. */
enum { GROUPS_TEXT = 8192 };

/* Of each version of control groups: behind a group's folder the files above, which the second has not all. */
static const char group_names[2][GROUP_FILES][24] = {
    {"/memory.current", "/memory.max", "/memory.high", "/memory.stat", "/memory.pressure"},
    {"/memory.usage_in_bytes", "/memory.limit_in_bytes", "/", "/memory.stat", "/"},
};

static struct kept_file group_files[KEPT_FILES];
static _Atomic(uint32_t) group_watched; /* a boolean */

/* The number at the text's start; SIZE_MAX if there is none, as for "max", or if it is larger. */
static NOINLINE size_t number_at(const char *text) {
    uint64_t value = 0;
    if (*text < '0' || *text > '9') return SIZE_MAX;
    for (; *text >= '0' && *text <= '9' && value < NO_GROUP_LIMIT; text++) value = value * 10 + (unsigned)(*text - '0');
    return value < NO_GROUP_LIMIT ? (size_t)value : SIZE_MAX;
}

/* As strstr, which in some C libraries reads thread-local storage: a round has none of its own (linux_thread.c). */
static ALWAYS_INLINE char *find_text(char *text, const char *wanted) {
    for (; *text != '\0'; text++) {
        unsigned same = 0;
        while (wanted[same] != '\0' && text[same] == wanted[same]) same++;
        if (wanted[same] == '\0') return text + same;
    }
    return NULL;
}

static char *append_text(char *end, const char *last, const char *text) {
    while (*text != '\0' && end < last) *end++ = *text++;
    *end = '\0';
    return end;
}

static void keep_group_file(unsigned which, const char *path) {
    long file = kernel_call(SYS_openat, ARGUMENTS(AT_FDCWD, ARGUMENT(path), O_RDONLY | O_CLOEXEC));
    if (kernel_failed(file)) return;
    keep_file(&group_files[which], file);
    kernel_call(SYS_close, ARGUMENTS(file));
}

static bool limits_group(const char *path) {
    char text[GROUP_TEXT];
    text[platform_read_file(path, text, sizeof text - 1)] = '\0';
    return number_at(text) != SIZE_MAX;
}

/* `path` up to `end`: a group's folder. Keeps its files if it has a limit, or `always`. */
static bool keep_group(char *path, char *end, unsigned version, bool always) {
    bool limited = always;
    char *last = path + GROUP_PATH - 1;
    for (unsigned which = GROUP_MOST; which <= GROUP_HIGH && !limited; which++) {
        append_text(end, last, group_names[version][which]);
        limited = limits_group(path);
    }
    for (unsigned which = 0; which < GROUP_FILES && limited; which++) {
        append_text(end, last, group_names[version][which]);
        if (group_names[version][which][1] != '\0') keep_group_file(which, path);
    }
    return limited;
}

/* Whether "memory" is one of the names between commas. */
static ALWAYS_INLINE bool names_memory(const char *names) {
    static const char memory[] = "memory";
    for (size_t length;; names += length + 1) {
        length = strcspn(names, ",");
        if (length == sizeof memory - 1 && memcmp(names, memory, length) == 0) return true;
        if (names[length] == '\0') return false;
    }
}

/* Finds the process's group in lines of the form "number:controllers:path". A line of version 1 that has memory among
 * its controllers counts, else that of version 2, which names none. Returns the path; NULL: there is none. A last line
 * without end may be cut off. */
static ALWAYS_INLINE char *find_group(char *text, const char **controllers) {
    char *own = NULL;
    for (char *line = text, *end; *(end = line + strcspn(line, "\n")) != '\0'; line = end + 1) {
        *end = '\0';
        char *names = line + strcspn(line, ":");
        if (names == end) continue;
        names++;
        char *path = names + strcspn(names, ":");
        if (path == end || path[1] != '/') continue;
        *path++ = '\0';
        if (*names != '\0' && !names_memory(names)) continue;
        own = path;
        *controllers = names;
        if (*names != '\0') break;
    }
    return own;
}

/* Writes the folder of all groups behind `base`. Controllers that are mounted together have one folder, whose name is
 * usually theirs; "memory" may lead there. Android has a folder of its own. */
static ALWAYS_INLINE char *append_groups(char *path, char *base, const char *controllers) {
    char *last = path + GROUP_PATH - 1, *slash = append_text(base, last, "/");
    append_text(append_text(slash, last, controllers), last, "/memory.stat");
    char byte;
    if (platform_read_file(path, &byte, sizeof byte) > 0) return append_text(slash, last, controllers);
    bool android = platform_read_file("/dev/memcg/memory.stat", &byte, sizeof byte) > 0;
    return android ? append_text(path, last, "/dev/memcg") : append_text(slash, last, "memory");
}

/* The descriptor; 0: there is none, or it refers to another file by now. */
static long group_file(unsigned which) {
    long file = kept_descriptor(&group_files[which]);
    return file != 0 && has_kept_file(file, &group_files[which]) ? file : 0;
}

static void forget_group(void) {
    for (unsigned which = 0; which < KEPT_FILES; which++) {
        long file = group_file(which);
        if (file != 0) kernel_call(SYS_close, ARGUMENTS(file));
        atomic_store_explicit(&group_files[which].descriptor, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&group_watched, false, memory_order_relaxed);
}

void platform_watch_group(const char *of_process, const char *root) {
    static char text[GROUPS_TEXT]; /* too much for a stack; without the option none of its pages is touched */
    char path[GROUP_PATH];
    forget_group();
    text[platform_read_file(of_process, text, sizeof text - 1)] = '\0';
    const char *controllers = "";
    char *own = find_group(text, &controllers);
    if (own == NULL) return;
    unsigned version = *controllers != '\0';
    char *last = path + GROUP_PATH - 1, *base = append_text(path, last, root);
    if (version) base = append_groups(path, base, controllers);
    char *end = append_text(base, last, own);
    for (bool limited = false; !limited;) {
        while (end > base && end[-1] == '/') end--;
        limited = keep_group(path, end, version, end == base);
        while (end > base && *--end != '/') continue;
    }
    keep_group_file(ALL_STALLS, "/proc/pressure/memory");
    atomic_store_explicit(&group_watched, true, memory_order_relaxed);
}

bool process_watches_group(void) {
    return NEAR_LOAD(group_watched);
}

/* The number behind `name` in one of the kept files; SIZE_MAX: there is none. */
static size_t group_number(unsigned which, const char *name) {
    char text[GROUP_TEXT];
    long file = group_file(which), got = 0;
    if (file != 0) got = kernel_call(SYS_pread64, ARGUMENTS(file, ARGUMENT(text), sizeof text - 1));
    text[got > 0 ? got : 0] = '\0';
    const char *found = find_text(text, name);
    return found != NULL ? number_at(found) : SIZE_MAX;
}

bool platform_group_memory(struct group_memory *group) {
    if (!process_watches_group()) return false;
    size_t most = group_number(GROUP_MOST, ""), high = group_number(GROUP_HIGH, "");
    size_t used = group_number(GROUP_USED, ""), files = group_number(GROUP_STAT, "\ninactive_file ");
    size_t stalled = group_number(GROUP_STALLS, "avg10=") + 1, all = group_number(ALL_STALLS, "avg10=") + 1;
    if (high < most) most = high;
    if (files < used) used -= files;
    group->most = used < SIZE_MAX ? most : SIZE_MAX;
    group->room = group->most == SIZE_MAX ? SIZE_MAX : most > used ? most - used : 0;
    if (all > stalled) stalled = all;
    group->stalled = stalled - (stalled > 0); /* 0: neither is known */
    return true;
}

uint32_t platform_process_id(void) {
    return (uint32_t)kernel_call(SYS_getpid, ARGUMENTS(0));
}

uint64_t platform_seconds(void) {
    long now[2] = {0};
    kernel_call(SYS_clock_gettime, ARGUMENTS(CLOCK_REALTIME, ARGUMENT(now)));
    return (unsigned long)now[0];
}

const char *platform_program(void) {
    const char *path = (const char *)getauxval(AT_EXECFN);
    return path ? path : "";
}

static void raise_abort(void) {
    uint64_t abort_only = (uint64_t)1 << (SIGABRT - 1);
    kernel_call(SYS_rt_sigprocmask, ARGUMENTS(SIG_UNBLOCK, ARGUMENT(&abort_only), 0, KERNEL_SIGNAL_SET));
    long process = kernel_call(SYS_getpid, ARGUMENTS(0));
    kernel_call(SYS_tgkill, ARGUMENTS(process, kernel_call(SYS_gettid, ARGUMENTS(0)), SIGABRT));
}

/* Not libc's abort, which takes a lock and uses thread-local storage. */
_Noreturn void platform_abort(void) {
    raise_abort(); /* first the program's handler runs, most often a crash reporter */
    uint64_t default_action[8] = {0};
    kernel_call(SYS_rt_sigaction, ARGUMENTS(SIGABRT, ARGUMENT(default_action), 0, KERNEL_SIGNAL_SET));
    raise_abort();
    for (;;) kernel_call(SYS_exit_group, ARGUMENTS(127));
}

uint64_t platform_system_calls(void) {
    return NEAR_LOAD(linux_calls);
}
