/* random.c - the process's random numbers, seeds of its threads' (random.h). */
#include "platform/random.h"

#include <stdatomic.h>

#include "base/siphash.h"
#include "platform/platform.h"

#if !JW_HOSTED
_Thread_local uint64_t random_state __attribute__((tls_model("initial-exec")));
#endif
static uint64_t secret[2];
static _Atomic(uint32_t) drawn;

void random_begin(void) {
    for (unsigned i = 0; i < 2; i++) secret[i] = platform_random();
#if !JW_HOSTED
    random_state = 0;
#endif
}

uint64_t random_of_process(void) {
    return siphash(secret, atomic_fetch_add_explicit(&drawn, 1, memory_order_relaxed), 7);
}
