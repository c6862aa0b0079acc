/* start_test.c - a program that allocates before our constructor runs, as another library's constructor may: what the
 * start with the program does then. With EARLY_ENVIRONMENT libc has the environment already, else it has not. */
#include "unit.h"

#include <stdlib.h>

#include "core/start.h"

void __wrap_platform_watch_group(const char *of_process, const char *root);
void __wrap_platform_read_rights(void);
void __real_platform_start(void);
void __wrap_platform_start(void);
void __wrap_platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
void __wrap_platform_finish_start(void);
void __wrap_platform_spare_callers(enum platform_spare spare);
bool __wrap_platform_call_library(const char *library, const char *function, const void *argument);
char **__real_platform_environment(void);
char **__wrap_platform_environment(void);

#ifndef EARLY_ENVIRONMENT
#define EARLY_ENVIRONMENT 0
#endif

static bool no_environment, started_early;
static char steps[16], early_steps[16];

static void step(char letter) {
    size_t length = strlen(steps);
    if (length + 1 < sizeof steps) steps[length] = letter;
}

char **__wrap_platform_environment(void) {
    return no_environment ? NULL : __real_platform_environment();
}

void __wrap_platform_watch_group(const char *of_process, const char *root) {
    CHECK(strcmp(of_process, "/proc/self/cgroup") == 0 && strcmp(root, "/sys/fs/cgroup") == 0);
    step('w');
}

void __wrap_platform_start(void) {
    step(options.pressure ? 'o' : 'p'); /* o: with the options; the first mapping follows */
    __real_platform_start();
}

void __wrap_platform_read_rights(void) {
    step('r');
}

void __wrap_platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    CHECK(prepare && parent && child);
    step('f');
}

void __wrap_platform_finish_start(void) {
    step('e');
}

void __wrap_platform_spare_callers(enum platform_spare spare) {
    CHECK(spare == SPARED);
    step('s');
}

bool __wrap_platform_call_library(const char *library, const char *function, const void *argument) {
    CHECK(strcmp(library, "libjwwatch.so") == 0 && strcmp(function, "jw_watch") == 0 && argument);
    step('l');
    return true;
}

/* Before the constructor of ours that starts with the program. */
__attribute__((constructor(101))) static void allocate_early(void) {
    setenv("JWMALLOC_CONF", "pressure:true,spare_callers:true,watch:true", 1);
    no_environment = !EARLY_ENVIRONMENT;
    started_early = allocator_start();
    memcpy(early_steps, steps, sizeof steps);
    no_environment = false;
}

static void options_are_obeyed_and_each_step_is_made_once(void **state) {
    (void)state;
    const char *all = EARLY_ENVIRONMENT ? "owrfesl" : "prfeswl";
    assert_true(started_early);
    assert_string_equal(early_steps, EARLY_ENVIRONMENT ? "ow" : "p"); /* the others may need libc */
    assert_true(options.pressure && options.spare_callers);
    assert_string_equal(steps, all);
    assert_true(allocator_start());
    assert_string_equal(steps, all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_obeyed_and_each_step_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
