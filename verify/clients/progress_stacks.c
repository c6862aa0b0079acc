/* progress_stacks - two threads use a stack and may stop for good at any of their steps, also between the two steps of
 * an owned stack's pop. A third thread uses the stack beside them. Each of the four stacks is tried.
 *
 * bound     3 threads: 1 push | 1 take (the owner's push and pop) | 1 push and 1 take; 1 element there before
 * property  no operation waits for another thread: each ends, whatever step the others have stopped at; each element
 *           has one holder
 */
#include "sync/id_stack.h"
#include "sync/owned_stack.h"
#include "sync/pointer_stack.h"
#include "sync/versioned_stack.h"
#include "verify/clients/client.h"

enum { ELEMENTS = 4, ID = 0, POINTER, OWNED, VERSIONED, KINDS };

static struct id_stack by_id;
static struct pointer_stack by_pointer;
static struct owned_stack owned;
static struct versioned_stack versioned;
static struct stack_link links[ELEMENTS];
static _Atomic(uint32_t) next_of[ELEMENTS];
static uint64_t used[ELEMENTS]; /* plain: a race, if an element has two holders */
static unsigned kind;

static uint32_t next(uint32_t id) {
    return atomic_load_explicit(&next_of[id], memory_order_relaxed);
}

static void set_next(uint32_t id, uint32_t following) {
    atomic_store_explicit(&next_of[id], following, memory_order_relaxed);
}

static void push(uint32_t id) {
    used[id]++;
    if (kind == ID) id_stack_push(&by_id, id, set_next);
    if (kind == POINTER) pointer_stack_push(&by_pointer, &links[id], &links[id]);
    if (kind == OWNED) owned_stack_push(&owned, id, set_next);
    if (kind == VERSIONED) versioned_stack_push(&versioned, id, set_next);
}

static void use_all(uint32_t id) {
    for (unsigned count = 0; id; id = next(id), count++) {
        assert(id < ELEMENTS && count < ELEMENTS);
        used[id]++;
    }
}

static void take(void) {
    if (kind == ID) use_all(id_stack_take_all(&by_id));
    if (kind == OWNED) use_all(owned_stack_take_all(&owned));
    if (kind == VERSIONED) {
        uint32_t id = versioned_stack_pop(&versioned, next);
        if (id) used[id]++;
    }
    if (kind != POINTER) return;
    for (struct stack_link *link = pointer_stack_take_all(&by_pointer); link; link = link->next) used[link - links]++;
}

static void *pushing(void *unused) {
    (void)unused;
    checker_may_stop(true);
    push(2);
    if (kind != OWNED) return NULL;
    uint32_t popped = owned_stack_pop(&owned, next);
    if (popped) used[popped]++;
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    checker_may_stop(true);
    take();
    return NULL;
}

int main(void) {
    kind = checker_choose(KINDS);
    push(1);
    pthread_t a = start(pushing, NULL), b = start(taking, NULL);
    if (kind == ID) (void)id_stack_last_look_is_empty(&by_id);
    if (kind != OWNED) push(3); /* only the owner pushes to an owned stack */
    take();
    finish(a);
    finish(b);
    return 0;
}
