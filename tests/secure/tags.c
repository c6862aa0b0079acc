/* tags.c faults|late|nothing|switched - the hardened build on AArch64: what must end in a fault where the processor has
 * memory tags (each case in a process of its own), and goes unseen where it has none. late: the option tags is async,
 * so the fault comes with the next system call. switched: the program switches tags off, and on in both ways.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

enum { TAG_SHIFT = 56, LATE_FAULT = 8 /* SEGV_MTEAERR */, TAG_FAULT = 9 /* SEGV_MTESERR */, SEEN = 40 };

int jw_set_memory_tags(int level); /* core/host_controls.h */

static volatile char sink;
static bool late;

static char *object(size_t size) {
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memset(bytes, 0x5a, size);
    return bytes;
}

static unsigned tag_of(const void *object) {
    return (unsigned)((uintptr_t)object >> TAG_SHIFT & 15);
}

static void read_after_free(void) {
    char *bytes = object(40);
    free(bytes);
    sink = bytes[20];
}
static void write_after_free(void) {
    char *bytes = object(5000);
    free(bytes);
    bytes[4000] = 1;
}
static void *read_it(void *bytes) {
    sink = ((char *)bytes)[0];
    return NULL;
}
static void read_after_free_elsewhere(void) {
    pthread_t thread;
    char *bytes = object(40);
    free(bytes);
    CHECK(pthread_create(&thread, NULL, read_it, bytes) == 0);
    pthread_join(thread, NULL);
}
/* Its place has become another object. */
static void read_after_reuse(void) {
    char *bytes = object(1000);
    free(bytes);
    for (unsigned i = 0; i < 2000; i++) free(object(500));
    for (unsigned i = 0; i < 200; i++) object(1000);
    sink = bytes[0];
}
static void overflow_by_read(void) {
    char *bytes = object(40);
    sink = bytes[48];
}
static void overflow_by_write(void) {
    char *bytes = object(40);
    bytes[64] = 1;
}
static void overflow_mid(void) {
    char *bytes = object(5000);
    bytes[5120] = 1;
}
static void underflow(void) {
    char *bytes = object(40);
    bytes[-1] = 1;
}
static void beyond_after_realloc(void) {
    char *bytes = realloc(object(100), 60);
    sink = bytes[80];
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"read_after_free", read_after_free},
    {"write_after_free", write_after_free},
    {"read_after_free_elsewhere", read_after_free_elsewhere},
    {"read_after_reuse", read_after_reuse},
    {"overflow_by_read", overflow_by_read},
    {"overflow_by_write", overflow_by_write},
    {"overflow_mid", overflow_mid},
    {"underflow", underflow},
    {"beyond_after_realloc", beyond_after_realloc},
};

/* Neighbours' tags differ; so do an object's and that of what has its place next. */
static void tags_differ(bool wanted) {
    char *objects[200], *before = NULL;
    for (unsigned i = 0; i < 200; i++) objects[i] = object(100);
    for (unsigned i = 0; i < 200; i++) {
        CHECK((tag_of(objects[i]) != 0) == wanted);
        for (unsigned j = 0; j < 200; j++) {
            intptr_t distance = (intptr_t)((uintptr_t)objects[j] << 8) - (intptr_t)((uintptr_t)objects[i] << 8);
            if (distance >> 8 == 112) CHECK((tag_of(objects[i]) != tag_of(objects[j])) == wanted);
        }
    }
    for (unsigned i = 0; i < 200; i++) free(objects[i]);
    for (unsigned i = 0; i < 100000; i++) {
        char *now = object(100);
        if (before && (uintptr_t)now << 8 == (uintptr_t)before << 8) CHECK((now != before) == wanted);
        if (i % 500 == 0) before = now;
        free(now);
    }
}

static void on_fault(int number, siginfo_t *information, void *context) {
    (void)number;
    (void)context;
    _exit(information->si_code == (late ? LATE_FAULT : TAG_FAULT) ? SEEN : 1);
}

static bool ends_as_wanted(unsigned number, bool wanted) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &action, NULL);
        cases[number].run();
        syscall(SYS_getppid);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    bool right = WIFEXITED(status) && WEXITSTATUS(status) == (wanted ? SEEN : 0);
    printf("%-28s %s: status %#x\n", cases[number].name, right ? "ok" : "WRONG", (unsigned)status);
    fflush(stdout);
    return right;
}

static bool all_end_as_wanted(bool wanted) {
    bool right = true;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) right &= ends_as_wanted(i, wanted);
    tags_differ(wanted);
    return right;
}

static bool switched(void) {
    enum { OFF, ASYNC, SYNC };
    static const int levels[] = {OFF, ASYNC, SYNC, OFF, SYNC};
    bool right = true;
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++) {
        CHECK(jw_set_memory_tags(levels[i]) == 0);
        late = levels[i] == ASYNC;
        right &= all_end_as_wanted(levels[i] != OFF);
    }
    return right;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    if (strcmp(arguments[1], "switched") == 0) return switched() ? 0 : 1;
    late = strcmp(arguments[1], "late") == 0;
    return all_end_as_wanted(late || strcmp(arguments[1], "faults") == 0) ? 0 : 1;
}
