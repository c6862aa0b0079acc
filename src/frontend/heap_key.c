/* heap_key.c - derives the keys of heaps from a secret, and hands a child of a fork a secret of its own. */
#include "frontend/heap_key.h"

#include "base/published.h"
#include "base/siphash.h"
#include "platform/host.h"
#include "platform/platform.h"
#include "sync/free_link.h"

uint64_t frontend_key;
PUBLISHED(frontend_key);

static uint64_t heap_secret[2]; /* of this generation's keys */

/* The seed of the children's secrets, in memory that a fork wipes in the child. NULL: there is no such memory. `forks`
 * is 0 once it is wiped. */
static struct fork_seeds {
    uint64_t key[2];
    _Atomic(uint64_t) forks;
} *fork_seeds;
OF_FORKING_THREAD uint64_t child_secret[2]; /* the next child's secret, while this thread forks */

static NOINLINE uint64_t hash_for(const uint64_t secret[2], uint64_t number, unsigned purpose) {
    return siphash(secret, number << 8 | purpose, 7); /* numbers of heaps and forks have less than 48 bits */
}

uint64_t heap_derived(uint64_t number, enum heap_purpose purpose) {
    return hash_for(heap_secret, number, purpose);
}

/* The own bits differ between heaps, so a link that is read tells the key of no other heap. */
uint64_t heap_key(uint32_t number) {
    uint64_t own = heap_derived(number, FOR_KEY);
    uint64_t above = sizeof(uintptr_t) < sizeof own ? frontend_key : own;
    return link_key_of((above & ~(uint64_t)UINT32_MAX) | key_made(number, (uint32_t)own));
}

/* Makes child_secret the secret of this process, and derives the seed of its children's secrets. */
static void take_secret(void) {
    for (unsigned i = 0; i < 2; i++) {
        /* none yet: at the start, or if a handler has forked between the two steps */
        if (!child_secret[i]) child_secret[i] = platform_random();
        heap_secret[i] = child_secret[i];
        if (fork_seeds) fork_seeds->key[i] = hash_for(child_secret, 0, FOR_SEEDS + i);
    }
    if (fork_seeds) atomic_store_explicit(&fork_seeds->forks, 1, memory_order_relaxed); /* one thread */
    child_secret[0] = child_secret[1] = 0;
}

COLD void heap_keys_before_fork(void) {
    uint64_t fork = fork_seeds ? atomic_load_explicit(&fork_seeds->forks, memory_order_relaxed) : 0;
    if (fork) fork = atomic_fetch_add_explicit(&fork_seeds->forks, 1, memory_order_relaxed);
    for (unsigned i = 0; i < 2; i++)
        child_secret[i] = fork ? hash_for(fork_seeds->key, fork, FOR_CHILD + i) : platform_random();
}

COLD void heap_keys_after_fork(bool child) {
    if (child) take_secret();
    else child_secret[0] = child_secret[1] = 0;
}

void heap_keys_start(void) {
    frontend_key = link_key_of(platform_random());
    fork_seeds = platform_forgotten_by_fork(sizeof *fork_seeds);
    take_secret();
}
