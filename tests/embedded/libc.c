/* libc.c - a mock C library with the core inside: threads by clone, whose control blocks have the core's word; the
 * start and the end of threads and of the program tell the core; fork runs its handlers. Nothing else of a C library
 * but what the tests need. No thread-local variable, no constructor, no pthread key.
 */
#include "base/print.h"
#include "core/host_calls.h"
#include "embedded/slot.h"
#include "embedded/start.h"
#include "frontend/heap_rounds.h"
#include "platform/linux_call.h"
#include "platform/platform.h"
#include "statistics/statistics.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 256 * 1024 };

struct mock_thread {
    struct mock_control control;
    void *(*body)(void *argument);
    void *argument, *result;
    _Atomic(unsigned) lives; /* the thread's number; the kernel clears it */
};

char **environ;
static const unsigned long *auxiliary;

int *mock_errno(void) {
    return &mock_control()->error;
}

_Noreturn void _exit(int code) {
    for (;;) raw_call(SYS_exit_group, ARGUMENTS(code));
}

unsigned long getauxval(unsigned long type) {
    const unsigned long *entry = auxiliary;
    while (entry[0] != 0 && entry[0] != type) entry += 2;
    return entry[0] != 0 ? entry[1] : 0;
}

int clock_gettime(int clock, struct timespec *now) {
    return (int)raw_call(SYS_clock_gettime, ARGUMENTS(clock, ARGUMENT(now)));
}

long sysconf(int name) {
    return name == _SC_PAGESIZE ? (long)getauxval(AT_PAGESZ) : -1;
}

/* --- what the core asks of the library that it is in */

static void (*thread_end_hook)(void *word);
static void (*fork_hooks[3])(void);

uint32_t platform_thread_id(void) {
    return mock_control()->number;
}

wide_bool platform_on_thread_exit(void (*at_exit)(void *value), void *value) {
    (void)value; /* it is the thread's word */
    __atomic_store_n(&thread_end_hook, at_exit, __ATOMIC_RELAXED);
    return true;
}

void host_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    fork_hooks[0] = prepare;
    fork_hooks[1] = parent;
    fork_hooks[2] = child;
}

void platform_finish_start(void) {
}

void platform_abort_message(const char *text, size_t length) {
    (void)text, (void)length;
}

/* --- threads */

static void end_of_thread(void) {
    void (*hook)(void *word) = __atomic_load_n(&thread_end_hook, __ATOMIC_RELAXED);
    if (hook != NULL) hook(host_word());
}

static void run_thread(void) {
    struct mock_thread *thread = mock_control()->thread;
    mock_control()->number = (unsigned)raw_call(SYS_gettid, ARGUMENTS(0));
    host_thread_starts();
    thread->result = thread->body(thread->argument);
    end_of_thread();
}

int pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    (void)attributes;
    long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    char *stack =
        (char *)raw_call(RAW_MMAP, ARGUMENTS(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
    if (kernel_failed((long)stack)) return (int)-(long)stack;
    struct mock_thread *thread = (struct mock_thread *)(stack + STACK) - 1;
    thread->control.self = &thread->control;
    thread->control.thread = thread;
    thread->body = body;
    thread->argument = argument;
    *made = thread;
    reclaimer_before_thread_create();
    const long arguments[5] =
        CLONE_ARGUMENTS(flags, (long)thread & -64L, ARGUMENT(&thread->lives), ARGUMENT(&thread->control));
    long number = raw_thread(SYS_clone, arguments, run_thread);
    reclaimer_after_thread_create(number > 0);
    return number > 0 ? 0 : (int)-number;
}

int pthread_join(pthread_t thread, void **result) {
    unsigned number;
    while ((number = atomic_load_explicit(&thread->lives, memory_order_acquire)) != 0)
        raw_call(SYS_futex, ARGUMENTS(ARGUMENT(&thread->lives), FUTEX_WAIT, number));
    if (result != NULL) *result = thread->result;
    raw_call(SYS_munmap, ARGUMENTS(ARGUMENT((char *)(thread + 1) - STACK), STACK));
    return 0;
}

int fork(void) {
    fork_hooks[0]();
    long process = raw_call(SYS_clone, ARGUMENTS(SIGCHLD));
    if (process == 0) mock_control()->number = (unsigned)raw_call(SYS_gettid, ARGUMENTS(0));
    fork_hooks[process == 0 ? 2 : 1]();
    return (int)process;
}

int waitpid(int process, int *status, int options) {
    return (int)raw_call(SYS_wait4, ARGUMENTS(process, ARGUMENT(status), options));
}

/* --- the program */

/* What a program does of its libc's start, if it has that. `count`: of its arguments. */
void mock_before_start(long count) __attribute__((weak));

int main(int count, char **arguments);

_Noreturn void mock_main(long *stack) {
    static struct mock_control control;
    environ = (char **)(stack + 1 + stack[0] + 1);
    const char *const *end = (const char *const *)environ;
    while (*end != NULL) end++;
    auxiliary = (const unsigned long *)(end + 1);
    control.self = &control;
    set_thread_pointer(&control);
    control.number = (unsigned)raw_call(SYS_gettid, ARGUMENTS(0));
    host_thread_starts();
    if (mock_before_start != NULL) mock_before_start(stack[0]);
    start_with_the_program();
    int code = main((int)stack[0], (char **)(stack + 1));
    settle_at_exit();
    print_at_exit();
    _exit(code);
}

/* --- strings */

void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, size);
    while (size-- > 0) ((char *)to)[size] = ((const char *)from)[size];
    return to;
}

void *memset(void *to, int byte, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i]) return a[i] - b[i];
    return 0;
}

size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length] != '\0') length++;
    return length;
}

int strncmp(const char *one, const char *other, size_t size) {
    size_t i = 0;
    while (i < size && one[i] == other[i] && one[i] != '\0') i++;
    return i < size ? (unsigned char)one[i] - (unsigned char)other[i] : 0;
}

int strcmp(const char *one, const char *other) {
    return strncmp(one, other, SIZE_MAX);
}

char *strchr(const char *text, int letter) {
    while (*text != (char)letter && *text != '\0') text++;
    return *text == (char)letter ? (char *)(uintptr_t)text : NULL;
}

size_t strspn(const char *text, const char *accepted) {
    size_t length = 0;
    while (text[length] != '\0' && strchr(accepted, text[length]) != NULL) length++;
    return length;
}

size_t strcspn(const char *text, const char *refused) {
    size_t length = 0;
    while (text[length] != '\0' && strchr(refused, text[length]) == NULL) length++;
    return length;
}

char *strstr(const char *text, const char *part) {
    for (; *text != '\0'; text++)
        if (strncmp(text, part, strlen(part)) == 0) return (char *)(uintptr_t)text;
    return NULL;
}

unsigned long long strtoull(const char *text, char **end, int base) {
    unsigned long long value = 0;
    (void)base;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (unsigned)(*text - '0');
    if (end != NULL) *end = (char *)(uintptr_t)text;
    return value;
}

long atol(const char *text) {
    return (long)strtoull(text, NULL, 10);
}

/* Strings as they are; each other argument is a number of as many bytes as its length letters say. */
static void print_formatted(int descriptor, const char *format, va_list arguments) {
    char data[256];
    struct print_buffer out = {.data = data, .size = sizeof data};
    for (; *format != '\0'; format++) {
        if (*format != '%') {
            print_bytes(&out, format, 1);
            continue;
        }
        bool wide = false;
        while (*++format == 'z' || *format == 'l') wide = true;
        if (*format == 's') print_text(&out, va_arg(arguments, const char *));
        else print_unsigned(&out, wide ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned));
    }
    raw_call(SYS_write, ARGUMENTS(descriptor, ARGUMENT(data), ARGUMENT(out.length)));
}

int dprintf(int descriptor, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_formatted(descriptor, format, arguments);
    va_end(arguments);
    return 0;
}

int printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_formatted(1, format, arguments);
    va_end(arguments);
    return 0;
}

/* --- one stream at a time, to memory that is not malloc's */

static struct mock_file {
    char text[32768];
    size_t length, *told;
} stream;

FILE *open_memstream(char **text, size_t *length) {
    stream.length = 0;
    stream.told = length;
    *text = stream.text;
    return &stream;
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
    size_t room = sizeof file->text - file->length - 1, all = size * count < room ? size * count : room;
    memcpy(file->text + file->length, bytes, all);
    file->length += all;
    return all / size;
}

int ferror(FILE *file) {
    (void)file;
    return 0;
}

int fclose(FILE *file) {
    file->text[file->length] = '\0';
    *file->told = file->length;
    return 0;
}
