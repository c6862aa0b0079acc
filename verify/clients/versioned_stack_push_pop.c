/* versioned_stack_push_pop - two threads pop two elements each and push them in another order than they lay in. So a
 * thread may meet a stack whose first element is the same again, but not the one below it.
 *
 * bound     2 threads: 2 pops each and as many pushes as pops that gave an element; 2 elements
 * property  no element has two holders, and none is lost
 */
#include "sync/versioned_stack.h"
#include "verify/clients/client.h"

enum { ELEMENTS = 2 };

static struct versioned_stack stack;
static _Atomic(uint32_t) links[ELEMENTS + 1];
static uint64_t used[ELEMENTS + 1]; /* plain: a race, if an element has two holders */

static uint32_t next(uint32_t id) {
    return atomic_load_explicit(&links[id], memory_order_relaxed);
}

static void set_next(uint32_t id, uint32_t following) {
    atomic_store_explicit(&links[id], following, memory_order_relaxed);
}

static void *taking_two(void *unused) {
    (void)unused;
    uint32_t first = versioned_stack_pop(&stack, next), second = versioned_stack_pop(&stack, next);
    if (first) used[first]++;
    if (first) versioned_stack_push(&stack, first, set_next);
    if (second) used[second]++;
    if (second) versioned_stack_push(&stack, second, set_next);
    return NULL;
}

int main(void) {
    versioned_stack_push(&stack, 1, set_next);
    versioned_stack_push(&stack, 2, set_next);
    pthread_t other = start(taking_two, NULL);
    taking_two(NULL);
    finish(other);
    uint32_t first = versioned_stack_pop(&stack, next), second = versioned_stack_pop(&stack, next);
    assert(first + second == 3 && first != 0 && second != 0);
    assert(versioned_stack_pop(&stack, next) == 0);
    return 0;
}
