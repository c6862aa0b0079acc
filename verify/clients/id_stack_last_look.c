/* id_stack_last_look - a thread looks for the last time and goes, while another pushes and asks whether a thread looks.
 *
 * bound     2 threads: 1 push, 1 last look; the stack is empty at the start
 * property  the one that looks sees the element, or the one that pushes sees that no thread looks any more
 */
#include "sync/id_stack.h"
#include "verify/clients/client.h"

static struct id_stack stack;
static uint32_t next_of[2];
static _Atomic(bool) somebody_looks = true;
static bool seen;

static void set_next(uint32_t id, uint32_t next) {
    next_of[id] = next;
}

static void *leaving(void *unused) {
    (void)unused;
    atomic_store_explicit(&somebody_looks, false, memory_order_relaxed);
    seen = !id_stack_last_look_is_empty(&stack);
    return NULL;
}

int main(void) {
    pthread_t a = start(leaving, NULL);
    id_stack_push(&stack, 1, set_next);
    bool relied = atomic_load_explicit(&somebody_looks, memory_order_relaxed);
    finish(a);
    assert(seen || !relied);
    assert(id_stack_take_all(&stack) == 1);
    return 0;
}
