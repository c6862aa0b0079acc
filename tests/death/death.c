/* death.c - runs the cases of misuse.
 *
 *   death release|checked|secure|unverified [CASE]     those of the build, or one case
 */
#include "death.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LINE = 512 };
static char *expected; /* LINE bytes, shared with the child: "" for none */

static void expect_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, LINE, format, arguments);
    va_end(arguments);
}

void expect(const char *kind, const void *address, const char *tier, size_t size, long owner, const char *remark) {
    char class[32] = "none", thread[32] = "none";
    if (size > 0) snprintf(class, sizeof class, "%zu B", size);
    if (owner != NOBODY) snprintf(thread, sizeof thread, owner == ENDED ? "ended" : "%ld", owner);
    expect_line("jwmalloc: %s: address 0x%jx, tier %s, size class %s, owner thread %s (%s)\n", kind,
                (uintmax_t)(uintptr_t)address, tier, class, thread, remark);
}

/* The hardened build puts 8 bytes behind each object, so that its classes are not known here. */
bool secure;

bool checked;

static const char *tier_of(size_t usable) {
    size_t size = usable + (secure ? 8 : 0);
    if (size <= 2 * KB) return "small";
    if (size > 4 * MB) return "huge";
    return size <= (secure ? 14 : 64) * KB ? "mid"
                                           : "large"; /* between, the granule decides: no case has such a size */
}

void expect_object(const char *kind, const void *address, const void *object, const char *remark) {
    size_t usable = malloc_usable_size((void *)(uintptr_t)object);
    const char *tier = tier_of(usable);
    expect(kind, address, tier, usable, *tier == 's' ? thread_number() : NOBODY, remark);
}

void expect_nothing(const char *kind, const void *address, const char *remark) {
    expect(kind, address, "none", 0, NOBODY, remark);
}

void expect_nothing_wrong(void) {
    expect_line("");
}

char *object(size_t size) {
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memset(bytes, 0x5a, size);
    return bytes;
}

long thread_number(void) {
    return syscall(SYS_gettid);
}

static void *free_in_thread(void *bytes) {
    free(bytes);
    return NULL;
}

static void *allocate_in_thread(void *size) {
    return object((size_t)(uintptr_t)size);
}

struct errand {
    void *(*body)(void *);
    void *argument;
    long number;
};

static void *on_errand(void *argument) {
    struct errand *errand = argument;
    errand->number = thread_number();
    return errand->body(errand->argument);
}

/* The kernel may still know a joined thread for a moment: musl's join comes back early. */
static void *elsewhere(void *(*body)(void *), void *argument) {
    struct errand errand = {body, argument, 0};
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, on_errand, &errand) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    while (syscall(SYS_tgkill, getpid(), errand.number, 0) == 0) sched_yield();
    return result;
}

void free_elsewhere(void *bytes) {
    elsewhere(free_in_thread, bytes);
}

char *object_from_elsewhere(size_t size) {
    return elsewhere(allocate_in_thread, (void *)(uintptr_t)size);
}

/* The operators exist in a program without C++ runtime too: there they have nobody to throw to. */
#if UINTPTR_MAX > 0xffffffffu
__attribute__((weak)) void *_Znwm(size_t size);
#define operator_new _Znwm
#else
__attribute__((weak)) void *_Znwj(size_t size);
#define operator_new _Znwj
#endif

static void operator_new_without_memory(size_t size) {
    CHECK(operator_new != NULL && operator_new(1000) != NULL);
    expect_line("jwmalloc: operator new: no memory for %zu bytes, and no C++ runtime to throw std::bad_alloc\n", size);
    operator_new(size);
}

static const struct death other_deaths[] = {
    {"operator_new_without_memory", operator_new_without_memory, {IMPOSSIBLE_SIZE}},
    {0},
};

/* A freed mapping whose place in the window a slab shares: what looks whether the object is the slab's reads its first
 * word, and that is a fault there (docs/misuse.md). Whether a slab shares it, the kernel's random addresses decide. */
enum { FAULT_AT_OBJECT = 99, TRIES = 20 };

static void fault(int number, siginfo_t *info, void *context) {
    (void)context;
    const char *address = strstr(expected, "address 0x");
    bool unmapped = strstr(expected, "tier huge") || strstr(expected, "given back to the system");
    if (address && unmapped && (uintptr_t)info->si_addr - (uintptr_t)strtoumax(address + 8, NULL, 16) < 8)
        _exit(FAULT_AT_OBJECT);
    signal(number, SIG_DFL); /* and once more */
}

/* What the case wrote to standard error, without the remark that qemu-user adds to a death. */
static int run(const struct death *death, size_t size, char *text) {
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = fault, .sa_flags = SA_SIGINFO}, NULL);
        death->misuse(size);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, LINE - 1 - length)) > 0;) length += (size_t)got;
    text[length] = 0;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    char *remark = strstr(text, "qemu: ");
    if (remark != NULL) *remark = 0;
    return status;
}

/* Whether the texts are the same, but for the number of a class in the hardened build. */
static bool same(const char *text, const char *promised) {
    static const char label[] = ", size class ";
    const char *class = strstr(text, label), *wanted = strstr(promised, label);
    if (!secure || !class || !wanted) return strcmp(text, promised) == 0;
    size_t length = (size_t)(class - text) + sizeof label - 1;
    if (strncmp(text, promised, length) != 0 || (wanted[sizeof label - 1] == 'n') != (class[sizeof label - 1] == 'n'))
        return false;
    return strcmp(strchr(text + length, ','), strchr(promised + length, ',')) == 0;
}

static bool dies_as_promised(const struct death *death, size_t size) {
    char text[LINE];
    strcpy(expected, "nothing: the case has not said what must come\n");
    int status = run(death, size, text);
    for (int i = 0; i < TRIES && WIFEXITED(status) && WEXITSTATUS(status) == NEEDS_ANOTHER_KEY; i++)
        status = run(death, size, text);
    bool died = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, fine = WIFEXITED(status) && !WEXITSTATUS(status);
    bool faulted = WIFEXITED(status) && WEXITSTATUS(status) == FAULT_AT_OBJECT && !*text;
    bool right = faulted || (same(text, expected) && (*expected ? died : fine));
    printf("%-32s %8zu %s: status %#x, said: %s", death->name, size, right ? "ok" : "WRONG", (unsigned)status, text);
    if (!right) printf("expected: %s", expected);
    printf("\n");
    fflush(stdout);
    return right;
}

int main(int count, char **arguments) {
    CHECK(count > 1);
    bool right = true, found = false;
    checked = strcmp(arguments[1], "checked") == 0;
    const char *wanted = arguments[2];
    const struct death *const tables[] = {invalid_deaths, double_deaths, sized_deaths,
                                          other_deaths,   forged_deaths, written_deaths};
    const size_t last = sizeof tables / sizeof *tables;
    if (!under_jwmalloc()) check_skip("the C library's malloc has words of its own");
    secure = strcmp(arguments[1], "secure") == 0;
    const bool unverified = strcmp(arguments[1], "unverified") == 0;
    expected = mmap(NULL, LINE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(expected != MAP_FAILED);
    free(object(100)); /* so that the children inherit a heap, whose thread has another number in them */
    for (size_t i = 0; i < last - (checked ? 0 : secure || unverified ? 2 : 1); i++) {
        for (const struct death *death = tables[i]; death->name; death++) {
            if (wanted && strcmp(wanted, death->name) != 0) continue;
            found = true;
            for (size_t j = 0; j == 0 || (j < 7 && death->sizes[j]); j++)
                right &= dies_as_promised(death, death->sizes[j]);
        }
    }
    CHECK(found);
    return right ? 0 : 1;
}
