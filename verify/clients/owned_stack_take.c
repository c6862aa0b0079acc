/* owned_stack_take - another thread takes all of a stack while its owner pushes two elements and pops one.
 *
 * bound     2 threads: 2 pushes and 1 pop by the owner, of a stack with 2 elements; 1 take
 * property  every element is in one thread's hands at a time, and none is lost
 */
#include "sync/owned_stack.h"
#include "verify/clients/client.h"

enum { ELEMENTS = 4 };

static struct owned_stack stack;
static uint32_t next_of[ELEMENTS + 1];
static uint64_t had[ELEMENTS + 1]; /* plain: a race, if an element has two holders */

static uint32_t next(uint32_t id) {
    return next_of[id];
}

static void set_next(uint32_t id, uint32_t following) {
    next_of[id] = following;
}

static void take(void) {
    for (uint32_t id = owned_stack_take_all(&stack), following; id; id = following) {
        following = next_of[id];
        next_of[id] = 0;
        had[id]++;
    }
}

static void *taking(void *unused) {
    (void)unused;
    take();
    return NULL;
}

int main(void) {
    assert(owned_stack_push(&stack, 1, set_next) == 0);
    assert(owned_stack_push(&stack, 2, set_next) == 1);
    pthread_t a = start(taking, NULL);
    owned_stack_push(&stack, 3, set_next);
    owned_stack_push(&stack, 4, set_next);
    uint32_t popped = owned_stack_pop(&stack, next);
    if (popped) had[popped]++;
    finish(a);
    take();
    assert(owned_stack_is_empty(&stack));
    for (uint32_t id = 1; id <= ELEMENTS; id++) assert(had[id] == 1);
    return 0;
}
