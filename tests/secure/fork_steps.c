/* fork_steps.c - in the hardened build a signal handler forks at each instruction of some mallocs and frees. The child
 * allocates and frees in the handler, until its quarantine has been filled several times, then goes on with what was
 * interrupted, and works again. Nothing may be said, no object may be given out twice, and each is zero.
 *
 * On x86-64 only: the handler is that of the processor's trap flag, which stops after each instruction.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

#ifdef __x86_64__
enum { SIZE = 64, LARGE = 20000, LIVE = 24, ROUNDS = 400, WARM = 1000, STEPPED = 8, TRAP_FLAG = 0x100 };

static volatile sig_atomic_t stepping, is_child;
static unsigned steps, forks, stride; /* forks take long */

static char *live[LIVE];

static void check_object(const char *bytes, size_t size, char value) {
    for (size_t i = 0; i < size; i++) CHECK(bytes[i] == value);
}

static char *new_object(size_t size, char value) {
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    check_object(bytes, size, 0);
    return memset(bytes, value, size);
}

static void work(void) {
    for (unsigned i = 0; i < LIVE; i++)
        if (!live[i]) live[i] = new_object(SIZE, (char)(i + 1));
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned at = i * 7 % LIVE;
        check_object(live[at], SIZE, (char)(at + 1));
        free(live[at]);
        live[at] = new_object(SIZE, (char)(at + 1));
    }
    char *large = new_object(LARGE, 99);
    check_object(large, LARGE, 99);
    free(large);
}

static void step(int number, siginfo_t *information, void *context) {
    (void)number;
    (void)information;
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    *flags &= ~(greg_t)TRAP_FLAG;
    if (!stepping) return;
    *flags |= TRAP_FLAG;
    if (steps++ % stride) return;
    forks++;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        is_child = true;
        stepping = false;
        *flags &= ~(greg_t)TRAP_FLAG;
        alarm(20);
        work();
        return;
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) check_failed(__FILE__, (int)steps, "a child that works");
}

static char *objects[STEPPED];

static void step_operations(size_t size, unsigned every) {
    stride = every;
    stepping = true;
    __asm__ volatile("int3");
    for (unsigned i = 0; i < STEPPED; i++) {
        free(objects[i]);
        objects[i] = malloc(size);
        if (is_child) break;
    }
    stepping = false;
    if (!is_child) return;
    for (unsigned i = 0; i < STEPPED; i++)
        if (objects[i]) memset(objects[i], 77, SIZE);
    work();
    for (unsigned i = 0; i < STEPPED; i++)
        if (objects[i]) check_object(objects[i], SIZE, 77);
    work();
    _exit(0);
}

int main(void) {
    if (!under_jwmalloc()) return 0;
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_NODEFER};
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    for (unsigned i = 0; i < WARM; i++) {
        free(objects[i % STEPPED]);
        objects[i % STEPPED] = new_object(SIZE, 1);
    }
    step_operations(SIZE, 3);
    for (unsigned i = 0; i < STEPPED; i++) {
        free(objects[i]);
        objects[i] = new_object(LARGE, 1);
    }
    step_operations(LARGE, 101);
    printf("%u instructions, %u forks\n", steps, forks);
    return 0;
}
#else
int main(void) {
    check_skip("only x86-64 stops after each instruction by a flag");
}
#endif
