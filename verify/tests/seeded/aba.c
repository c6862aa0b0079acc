/* expect: assertion
 * A stack of indices without a tag: what pop took for the next node has been popped meanwhile.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { TAG = 16 };
#else
enum { TAG = 0 };
#endif

static _Atomic(int) next[4], head;
static _Atomic(int) got[4];

static int pop(void) {
    int top = atomic_load_explicit(&head, memory_order_acquire), after;
    do {
        if (top % 16 == 0) return 0;
        after = atomic_load_explicit(&next[top % 16], memory_order_relaxed) + (top & ~15) + TAG;
    } while (!atomic_compare_exchange_strong_explicit(&head, &top, after, memory_order_acq_rel, memory_order_acquire));
    return top % 16;
}

static void push(int node) {
    int top = atomic_load_explicit(&head, memory_order_relaxed);
    do atomic_store_explicit(&next[node], top % 16, memory_order_relaxed);
    while (!atomic_compare_exchange_strong_explicit(&head, &top, (top & ~15) + TAG + node, memory_order_release,
                                                    memory_order_relaxed));
}

static void take(int node) {
    if (node) atomic_fetch_add_explicit(&got[node], 1, memory_order_relaxed);
}

static void *taker(void *unused) {
    take(pop());
    return unused;
}

static void *shuffler(void *unused) {
    int kept = pop();
    take(pop());
    if (kept) push(kept);
    return unused;
}

int main(void) {
    for (int node = 1; node <= 3; node++) push(node);
    pthread_t a = start(taker, NULL), b = start(shuffler, NULL);
    finish(a);
    finish(b);
    for (int node = pop(); node; node = pop()) take(node);
    for (int node = 1; node <= 3; node++) assert(atomic_load_explicit(&got[node], memory_order_relaxed) == 1);
    return 0;
}
