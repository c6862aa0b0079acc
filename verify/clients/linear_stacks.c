/* linear_stacks - two threads push, and two take, so that a thread may have heard of what another one has done. Each of
 * the four stacks is tried. (Only the owner of an owned stack pushes and pops.)
 *
 * bound     3 threads: 2 pushes | 1 push and 1 take (the owner: 2 pushes, 1 pop) | 2 takes; 1 element there before
 * property  linearizable as a stack: some order of all operations explains what each has answered, and keeps the order
 *           of those of which one ended before the other began; but an owned stack may seem empty during a pop
 */
#include "sync/id_stack.h"
#include "sync/owned_stack.h"
#include "sync/pointer_stack.h"
#include "sync/versioned_stack.h"
#include "verify/clients/history.h"

enum { ELEMENTS = 6, ID = 0, POINTER, OWNED, VERSIONED, KINDS };
enum { PUSH, POP, TAKE_ALL };

static struct id_stack by_id;
static struct pointer_stack by_pointer;
static struct owned_stack owned;
static struct versioned_stack versioned;
static struct stack_link links[ELEMENTS];
static _Atomic(uint32_t) next_of[ELEMENTS];
static unsigned kind;

static uint32_t next(uint32_t id) {
    return atomic_load_explicit(&next_of[id], memory_order_relaxed);
}

static void set_next(uint32_t id, uint32_t following) {
    atomic_store_explicit(&next_of[id], following, memory_order_relaxed);
}

static void push(unsigned thread, uint32_t id) {
    struct operation *operation = begin_operation(thread, PUSH, id);
    if (kind == ID) id_stack_push(&by_id, id, set_next);
    if (kind == POINTER) pointer_stack_push(&by_pointer, &links[id], &links[id]);
    if (kind == OWNED) owned_stack_push(&owned, id, set_next);
    if (kind == VERSIONED) versioned_stack_push(&versioned, id, set_next);
    end_operation(operation, thread, 0);
}

static uint32_t digits(uint32_t id) {
    uint32_t all = 0;
    for (; id; id = next(id)) all = all * 16 + id;
    return all;
}

static uint32_t digits_of_links(const struct stack_link *link) {
    uint32_t all = 0;
    for (; link; link = link->next) all = all * 16 + (uint32_t)(link - links);
    return all;
}

static void take(unsigned thread) {
    struct operation *operation = begin_operation(thread, kind == VERSIONED ? POP : TAKE_ALL, 0);
    uint32_t found = 0;
    if (kind == ID) found = digits(id_stack_take_all(&by_id));
    if (kind == POINTER) found = digits_of_links(pointer_stack_take_all(&by_pointer));
    if (kind == OWNED) found = digits(owned_stack_take_all(&owned));
    if (kind == VERSIONED) found = versioned_stack_pop(&versioned, next);
    end_operation(operation, thread, found);
}

static void pop_own(unsigned thread) {
    struct operation *operation = begin_operation(thread, POP, 0);
    end_operation(operation, thread, owned_stack_pop(&owned, next));
}

static bool as_a_stack(struct sequence *stack, const struct operation *operation) {
    if (operation->kind == PUSH) sequence_push(stack, operation->given);
    if (operation->kind == POP) return operation->answer == sequence_pop(stack);
    if (operation->kind == TAKE_ALL && kind == OWNED && !operation->answer && overlaps(operation, POP)) return true;
    return operation->kind == PUSH || operation->answer == sequence_take_all(stack);
}

static void *pushing(void *unused) {
    (void)unused;
    push(1, 2);
    say();
    if (kind != OWNED) return NULL;
    push(1, 3);
    pop_own(1);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    hear();
    take(2);
    take(2);
    return NULL;
}

int main(void) {
    kind = checker_choose(KINDS);
    push(0, 1);
    pthread_t a = start(pushing, NULL), b = start(taking, NULL);
    if (kind != OWNED) push(0, 4);
    take(0);
    finish(a);
    finish(b);
    take(0);
    assert(is_linearizable(as_a_stack));
    return 0;
}
