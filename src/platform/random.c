/* random.c - the seeds of threads' random numbers (random.h). */
#include "platform/random.h"

#include <stdatomic.h>

#include "base/siphash.h"
#include "platform/platform.h"

_Thread_local uint64_t random_state __attribute__((tls_model("initial-exec")));
static uint64_t seed_secret[2];
static _Atomic(uint32_t) seeds;

void random_begin(void) {
    for (unsigned i = 0; i < 2; i++) seed_secret[i] = platform_random();
    random_state = 0;
}

uint64_t random_seed(void) {
    return siphash(seed_secret, atomic_fetch_add_explicit(&seeds, 1, memory_order_relaxed), 7) | 1;
}
