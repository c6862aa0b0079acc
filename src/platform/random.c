/* random.c - the seed of a thread's random numbers (random.h). */
#include "platform/random.h"

#include "platform/platform.h"

_Thread_local uint64_t random_state __attribute__((tls_model("initial-exec")));

uint64_t random_seed(void) {
    return platform_random() | 1;
}
