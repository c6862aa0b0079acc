/* start_test.c - a program that allocates before libc has an environment: what the start with the program does then. */
#include "unit.h"

#include <stdlib.h>

#include "core/start.h"

void __wrap_platform_watch_group(const char *of_process, const char *root);
void __wrap_platform_read_rights(void);
void __wrap_platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
void __wrap_platform_finish_start(void);
void __wrap_platform_spare_callers(void);
char **__real_platform_environment(void);
char **__wrap_platform_environment(void);

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

void __wrap_platform_spare_callers(void) {
    step('s');
}

/* Before the constructor of ours that starts with the program. */
__attribute__((constructor(101))) static void allocate_early(void) {
    setenv("JWMALLOC_CONF", "pressure:true,spare_callers:true", 1);
    no_environment = true;
    started_early = allocator_start();
    memcpy(early_steps, steps, sizeof steps);
    no_environment = false;
}

static void options_are_obeyed_that_come_late(void **state) {
    (void)state;
    assert_true(started_early);
    assert_string_equal(early_steps, ""); /* no option asked for it, and libc may not be there yet */
    assert_true(options.pressure && options.spare_callers);
    assert_string_equal(steps, "rfesw"); /* each once */
    assert_true(allocator_start());
    assert_string_equal(steps, "rfesw");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_obeyed_that_come_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
