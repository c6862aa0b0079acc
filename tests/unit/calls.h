/* calls.h - writes which system calls a script makes, and with what; another thread is the kernel.
 *
 * The script's thread has a filter that reports each call (seccomp user notification). The main thread writes down the
 * calls that our code makes, and answers them. Most answers come from a world that is always the same (calls_world.h),
 * some are a refusal or what the script has ordered. The kernel answers the rest.
 *
 *     A-64K   an address, so far below the top of the arena in which all mappings lie; `own`: of the test's own memory
 *     P S T   the process, the script's thread, another thread
 *
 * Each script runs in a process of its own: first as it is, then with each of its calls refused. */
#ifndef JW_TESTS_CALLS_H
#define JW_TESTS_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "calls_names.h"
#include "calls_world.h"
#include "check.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1
#endif

enum { CALLS_TEXT = 1 << 22, LONGEST_SCRIPT = 20 /* seconds */, FOLLOWING_LINES = 3 };

/* Nothing of the test's own lies below that and above its program. */
#define OWN_LOW (sizeof(uintptr_t) > 4 ? (uintptr_t)(0x5000ull << 32) : ARENA_TOP)

/* Shared with the script's process. */
static struct calls {
    char text[CALLS_TEXT];
    size_t length;
    unsigned count, refused;
    int error; /* the call with the number `refused` gets it */
    size_t refused_at;
    char refused_name[24];
    bool done;
} *calls;

static struct {
    uintptr_t first, end;
} own_code;
static _Atomic(int) listener;
static _Atomic(bool) finished;
static pid_t own_process;
static _Atomic(pid_t) script_thread, answers_when_gone; /* the second: a wait is answered when that thread has gone */
static _Atomic(bool) records, body_may_go;              /* the second: the reclamation thread may end */

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(calls->text + calls->length, CALLS_TEXT - calls->length, format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && calls->length + (size_t)length < CALLS_TEXT);
    calls->length += (size_t)length;
}

/* --- The C library ---------------------------------------------------------------------------------------------- */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
    if (world.time.tv_sec == 0) return __real_clock_gettime(clock, now);
    *now = world.time;
    return 0;
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    int result = __real_pthread_mutex_lock(mutex);
#ifdef __GLIBC__
    if (world.time.tv_sec > 0) mutex->__data.__owner = 4711;
#endif
    return result;
}

int __real_dladdr(const void *address, Dl_info *found);
int __wrap_dladdr(const void *address, Dl_info *found);
int __wrap_dladdr(const void *address, Dl_info *found) {
    (void)address;
    say("    dladdr\n");
    found->dli_fname = world.module;
    found->dli_fbase = (void *)own_code.first;
    return world.finds_module;
}

void *__real_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode) {
    say("    dlopen(%s, %x)\n", file, (unsigned)mode);
    return __real_dlopen(file, mode);
}

#ifdef __GLIBC__
const char *__real_gnu_get_libc_version(void);
const char *__wrap_gnu_get_libc_version(void);
const char *__wrap_gnu_get_libc_version(void) {
    return world.libc ? world.libc : __real_gnu_get_libc_version();
}
#endif

/* --- Writing calls down ----------------------------------------------------------------------------------------- */

static void say_number(const char *prefix, long number) {
    if (number == 0) say("%s0", prefix);
    else if (number % 1024 == 0) say("%s%ldK", prefix, number / 1024);
    else say("%s%ld", prefix, number);
}

static void say_address(uintptr_t address) {
    if (address == 0) say("0");
    else if (address >= ARENA_LOW && address <= ARENA_TOP) say_number("A-", (long)(ARENA_TOP - address));
    else if (address >= OWN_LOW || (address >= own_code.first && address < own_code.end)) say("own");
    else say("0x%llx", (unsigned long long)address);
}

static void say_thread(long number) {
    if (number == own_process) say("P");
    else if (number == script_thread) say("S");
    else if (number > 300) say("T");
    else say("%ld", number);
}

static void say_text(const char *text, size_t length) {
    say("\"");
    for (size_t i = 0; i < length; i++) say(text[i] == '\n' ? "\\n" : "%c", text[i]);
    say("\"");
}

static void say_filter(const struct sock_fprog *program) {
    say("%u steps", program->len);
    for (unsigned i = 0; world.shows_filter && i < program->len; i++) {
        const struct sock_filter *step = &program->filter[i];
        const struct shown_call *call =
            step->code == (BPF_JMP | BPF_JEQ | BPF_K) && i > 3 && step->jt == 0 ? shown_call((long)step->k, ANY) : NULL;
        say("\n        %2u: %x ", i, step->code);
        if (i == 1) say("architecture");
        else if (call && step->k != (uint32_t)own_process) say("%s", call->name);
        else say_thread((long)step->k);
        say(" %u %u", step->jt, step->jf);
    }
}

static void say_clone3(const struct clone_args *wanted) {
    say("%llx, ", (unsigned long long)wanted->flags);
    say_address((uintptr_t)wanted->stack);
    say_number(" ", (long)wanted->stack_size);
    say(" %s words, tls %d, others %llu", wanted->child_tid == wanted->parent_tid ? "the same" : "other",
        wanted->tls != 0, (unsigned long long)(wanted->pidfd | wanted->exit_signal));
}

static unsigned count_bits(const unsigned char *bytes, size_t size) {
    unsigned bits = 0;
    for (size_t i = 0; i < size; i++) bits += (unsigned)__builtin_popcount(bytes[i]);
    return bits;
}

static void say_argument(char letter, long value, long next, long before) {
    const void *at = (const void *)value;
    switch (letter) {
    case 'a': say_address((uintptr_t)value); break;
    case 's': say_number("", value); break;
    case 'x': say("0x%lx", value); break;
    case 't': say_text(at, strlen(at)); break;
    case 'q': say_thread(value); break;
    case 'w': say_text(at, (size_t)next); break;
    case 'S': at ? say("%llx", *(const unsigned long long *)at) : say("0"); break;
    case 'T': at ? say("%ld.%09ld", ((const long *)at)[0], ((const long *)at)[1]) : say("0"); break;
    case 'v': say("%d", *(const int *)at); break;
    case 'H': say("%x %d", ((const uint32_t *)at)[0], ((const int *)at)[1]); break;
    case 'D':
        for (unsigned i = 0; i < 6; i++) say("%s%x", i ? " " : "", ((const uint32_t *)at)[i]);
        break;
    case 'B': say("%u bits", count_bits(at, (size_t)before)); break;
    case 'Z': say(bytes_are_zero(at, 64) ? "zero" : "other"); break;
    case 'F': say_filter(at); break;
    case 'C': say_clone3(at); break;
    case '=': say(value == before ? "the same" : "another"); break;
    default: say("%d", (int)value);
    }
}

static const char *say_call(const struct seccomp_notif *notice) {
    const struct shown_call *call = shown_call(notice->data.nr, (long)notice->data.args[0]);
    if (notice->pid != (uint32_t)script_thread) say("  T:");
    if (call == NULL) {
        say("    call %d", notice->data.nr);
        return "?";
    }
    say("    %s(", call->name);
    const char *separator = "";
    for (unsigned i = 0; call->format[i] != '\0'; i++) {
        if (call->format[i] == '-') continue;
        say("%s", separator);
        separator = ", ";
        say_argument(call->format[i], (long)notice->data.args[i], i < 5 ? (long)notice->data.args[i + 1] : 0,
                     i > 0 ? (long)notice->data.args[i - 1] : 0);
    }
    say(")");
    return call->name;
}

/* --- The kernel ------------------------------------------------------------------------------------------------ */

static void send_answer(uint64_t id, bool answered, long value) {
    struct seccomp_notif_resp response = {.id = id};
    if (!answered) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (value < 0 && value >= -4095) response.error = (int)value;
    else response.val = value;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static uint64_t late_answer; /* to the wait for the thread `answers_when_gone` */

static void answer_late(void) {
    if (late_answer == 0 || syscall(SYS_tgkill, own_process, answers_when_gone, 0) == 0) return;
    send_answer(late_answer, true, 0);
    late_answer = 0;
}

static void say_answer(const char *name, long value) {
    if (value == 0) return;
    if (value < 0 && value >= -4095) say(" = %ld", value);
    else if (strcmp(name, "getpid") == 0) say(value == own_process ? " = P" : " = another");
    else if (strcmp(name, "mmap") == 0) say(" = "), say_address((uintptr_t)value);
    else say(" = %ld", value);
}

static void serve_call(void) {
    struct seccomp_notif notice;
    memset(&notice, 0, sizeof notice);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) return;
    uintptr_t from = (uintptr_t)notice.data.instruction_pointer;
    if (!records || from < own_code.first || from >= own_code.end) {
        send_answer(notice.id, false, 0);
        return;
    }
    const char *name = say_call(&notice);
    long value = 0;
    bool answered = true;
    /* else what follows would be by chance */
    bool may_be_refused = strncmp(name, "exit", 4) != 0 && strcmp(name, "getrandom") != 0;
    if (may_be_refused && ++calls->count == calls->refused) {
        say(" refused\n");
        calls->refused_at = calls->length;
        snprintf(calls->refused_name, sizeof calls->refused_name, "%s", name);
        value = -calls->error;
    } else {
        if (strcmp(name, "futex") == 0 && answers_when_gone != 0 && late_answer == 0) {
            say(" until T has gone\n");
            late_answer = notice.id;
            body_may_go = true;
            return;
        }
        answered = answer_of_world(name, notice.data.args, &value);
        if (answered) say_answer(name, value);
        say("\n");
        if (strcmp(name, "exit_group") == 0) {
            finished = true; /* and the script never goes on */
            return;
        }
    }
    send_answer(notice.id, answered, value);
}

/* --- Scripts ---------------------------------------------------------------------------------------------------- */

static int note_own_code(struct dl_phdr_info *module, size_t size, void *unused) {
    (void)size, (void)unused;
    for (unsigned i = 0; i < module->dlpi_phnum; i++) {
        uintptr_t first = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
        if (module->dlpi_phdr[i].p_type != PT_LOAD) continue;
        if (own_code.first == 0 || first < own_code.first) own_code.first = first;
        if (first + module->dlpi_phdr[i].p_memsz > own_code.end) own_code.end = first + module->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the first module is the program */
}

static int filter_all(void) {
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)};
    struct sock_fprog program = {1, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void *run_script(void *body) {
    script_thread = (pid_t)syscall(SYS_gettid);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mask, NULL); /* so that a mask that is restored can be seen */
    int file = filter_all();
    if (file < 0) _exit(SKIPPED);
    listener = file;
    records = true;
    ((void (*)(void))(uintptr_t)body)();
    records = false;
    finished = true;
    return NULL;
}

/* In a process of its own. Returns the number of calls. */
static unsigned run_in_process(void (*body)(void), unsigned refused, int error) {
    int status;
    calls->count = 0;
    calls->refused = refused;
    calls->error = error;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pthread_t thread;
        alarm(LONGEST_SCRIPT);
        signal(SIGSEGV, SIG_DFL); /* cmocka's handler is for tests */
        signal(SIGBUS, SIG_DFL);
        own_process = getpid();
        new_world();
        dl_iterate_phdr(note_own_code, NULL);
        CHECK(pthread_create(&thread, NULL, run_script, (void *)(uintptr_t)body) == 0);
        while (listener == 0) usleep(100);
        while (!finished) {
            struct pollfd ready = {.fd = listener, .events = POLLIN};
            if (poll(&ready, 1, 1) > 0) serve_call();
            answer_late();
        }
        exit(0); /* not _exit: its lines count as executed, too */
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) check_skip("no seccomp user notification here");
    if (status != 0) dprintf(STDERR_FILENO, "ended with %x after\n%s", status, calls->text);
    CHECK(status == 0);
    return calls->count;
}

/* What follows a refusal is written up to the line from which on all is as without it; of many lines only the first
 * ones, and a sum of the others. */
static void say_difference(const char *tail, size_t length, const char *whole, size_t whole_length) {
    uint32_t sum = 0;
    unsigned lines = 0;
    size_t shown = 0;
    while (length > 0 && whole_length > 0 && tail[length - 1] == whole[whole_length - 1]) length--, whole_length--;
    while (length > 0 && tail[length - 1] != '\n') length++; /* whole lines */
    for (size_t i = 0; i < length; i++) {
        if (lines >= FOLLOWING_LINES) sum = sum * 31 + (unsigned char)tail[i];
        else shown = i + 1;
        lines += tail[i] == '\n';
    }
    say("%.*s", (int)shown, tail);
    if (lines > FOLLOWING_LINES) say("    and %u lines with the sum %u\n", lines - FOLLOWING_LINES, sum % 100000);
}

static void refuse_each(const char *name, void (*body)(void), size_t from, unsigned count) {
    static const int errors[] = {EPERM, ENOSYS, EINVAL};
    static char whole[CALLS_TEXT], tail[CALLS_TEXT];
    size_t whole_length = calls->length - from;
    memcpy(whole, calls->text + from, whole_length);
    for (unsigned i = 1; i <= count; i++) {
        size_t begin = calls->length;
        calls->refused_at = 0;
        run_in_process(body, i, errors[i % 3]);
        CHECK(calls->refused_at > begin);
        size_t length = calls->length - calls->refused_at;
        memcpy(tail, calls->text + calls->refused_at, length);
        calls->length = begin;
        say("%s, call %u %s: error %d\n", name, i, calls->refused_name, errors[i % 3]);
        say_difference(tail, length, whole, whole_length);
    }
}

/* Without refusals. */
static unsigned script_once(const char *name, void (*body)(void)) {
    say("\n%s\n\n", name);
    return run_in_process(body, 0, 0);
}

static void script(const char *name, void (*body)(void)) {
    size_t from = calls->length;
    unsigned count = script_once(name, body);
    if (sizeof(void *) < 8) return; /* of 32 bits a short text is enough */
    say("\n");
    refuse_each(name, body, from, count);
}

/* With JW_TRANSCRIPT=file: writes it. Else compares it with the file, and tells the first line that differs. */
static void calls_compare(const char *path) {
    const char *target = getenv("JW_TRANSCRIPT");
    FILE *file = fopen(target ? target : path, target ? "w" : "r");
    CHECK(file);
    if (target) {
        CHECK(fwrite(calls->text, 1, calls->length, file) == calls->length && fclose(file) == 0);
        return;
    }
    char line[1024];
    const char *at = calls->text;
    while (fgets(line, sizeof line, file)) {
        size_t length = strlen(line);
        if (strncmp(at, line, length) != 0) {
            const char *from = at;
            for (unsigned lines = 0; from > calls->text && lines < 12; from--) lines += from[-1] == '\n';
            dprintf(STDERR_FILENO, "after\n%.*s\nwanted %sgot    %.*s\n", (int)(at - from), from, line,
                    (int)strcspn(at, "\n"), at);
        }
        CHECK(strncmp(at, line, length) == 0);
        at += length;
    }
    CHECK(*at == '\0' && fclose(file) == 0);
}

#endif
