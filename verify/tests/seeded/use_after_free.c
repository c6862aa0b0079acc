/* expect: use-after-free
 * The reader still looks at the node while the owner, which has taken it back, frees it.
 */
#include "verify/clients/client.h"

struct node {
    _Atomic(int) value;
};

static _Atomic(struct node *) shared;

static void *reader(void *unused) {
#ifdef CORRECTED
    struct node *node = atomic_exchange_explicit(&shared, NULL, memory_order_acquire);
#else
    struct node *node = atomic_load_explicit(&shared, memory_order_acquire);
#endif
    if (node) assert(atomic_load_explicit(&node->value, memory_order_relaxed) == 3);
#ifdef CORRECTED
    free(node);
#endif
    return unused;
}

int main(void) {
    struct node *node = malloc(sizeof *node);
    atomic_init(&node->value, 3);
    atomic_store_explicit(&shared, node, memory_order_release);
    pthread_t a = start(reader, NULL);
    free(atomic_exchange_explicit(&shared, NULL, memory_order_acquire));
    finish(a);
    return 0;
}
