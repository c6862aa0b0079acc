/* backtrace.c - a debugger at a process ended for misuse sees through the library: a handler of SIGABRT that calls
 * backtrace() finds the function with the bad free, and main; and the line is where glibc keeps its last words, for
 * debuggers and crash reporters. The program exports its functions, so that dladdr knows their names.
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"
#include "entry_points.h"

#if defined(__has_include) && __has_include(<execinfo.h>)
#include <execinfo.h>
#else
static int backtrace(void **frames, int most) {
    (void)frames;
    (void)most;
    check_skip("no backtrace() here");
    return 0;
}
#endif

static bool is_in(void *address, const char *function) {
    Dl_info found;
    return dladdr(address, &found) && found.dli_sname != NULL && strcmp(found.dli_sname, function) == 0;
}

static void on_abort(int number) {
    void *frames[64];
    bool culprit = false, program = false;
    int depth = backtrace(frames, 64);
    for (int i = 0; i < depth; i++) {
        culprit |= is_in(frames[i], "culprit");
        program |= is_in(frames[i], "main");
    }
    dprintf(STDOUT_FILENO, "signal %d, %d frames, culprit %d, main %d\n", number, depth, culprit, program);
    CHECK(culprit && program);
#ifdef __GLIBC__
    struct message {
        unsigned size;
        char text[];
    } **message = (struct message **)dlsym(RTLD_DEFAULT, "__abort_msg");
    CHECK(message == NULL || (*message != NULL && strncmp((*message)->text, "jwmalloc: ", 10) == 0));
#endif
    _exit(0);
}

void culprit(size_t size, size_t offset);
__attribute__((noinline)) void culprit(size_t size, size_t offset) {
    char *object = malloc(size);
    CHECK(object != NULL);
    free(object + offset);
    free(object);
    CHECK(!"the misuse was not seen");
}

int main(void) {
    static const size_t sizes[] = {100, 5000, 100000, 5000000};
    void *frames[4];
    if (!under_jwmalloc()) check_skip("not under jwmalloc");
    backtrace(frames, 4); /* loads what it needs */
    signal(SIGABRT, on_abort);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) culprit(sizes[i / 2], i % 2 * 40);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    return 0;
}
