/* linear_cross - two threads free objects of a slab, whose owner drains the cross list and marks the slab full.
 *
 * bound     3 threads: 2 pushes | 1 push | 1 mark, 1 drain and 1 mark by the owner, and in the end 1 drain; 3 objects
 * property  linearizable as a stack with a mark: some order of all operations explains what each has answered, and
 *           keeps the order of those of which one ended before the other began. A mark succeeds if the list is empty;
 *           the push that finds it says so, and removes it; a drain takes all, newest first, and leaves a mark
 */
#include "frontend/cross_list.h"
#include "verify/clients/history.h"

enum { OBJECTS = 3, PUSH, DRAIN, MARK };

static _Alignas(GRANULE_SIZE) uint64_t slab[GRANULE_SIZE / sizeof(uint64_t)];
static struct cross_list list;
static uint64_t key;

static char *origin(void) {
    return (char *)slab - 1;
}

static uint64_t *object(uint32_t number) {
    return &slab[2 * number];
}

/* As free does it: one quick try, which a mark lets fail. */
static void push(unsigned thread, uint32_t number) {
    object(number)[1] = number; /* the last use: a race with a drain that does not order it */
    struct operation *operation = begin_operation(thread, PUSH, number);
    bool was_full =
        !cross_push(&list, origin(), object(number), key) && cross_push_slowly(&list, origin(), object(number), key);
    end_operation(operation, thread, was_full);
}

static void drain(void) {
    struct operation *operation = begin_operation(0, DRAIN, 0);
    unsigned count, found = 0;
    uint32_t all = 0;
    void *first = cross_drain(&list, origin(), &count);
    for (void *next; !link_is_end(first); first = next, found++) {
        next = link_next(first, key);
        all = all * 16 + (uint32_t)((uint64_t *)first)[1];
    }
    assert(first == origin() && found == count);
    end_operation(operation, 0, all);
}

static void mark(void) {
    struct operation *operation = begin_operation(0, MARK, 0);
    end_operation(operation, 0, !cross_is_full(cross_get(&list)) && cross_mark_full(&list));
}

static bool as_a_marked_stack(struct sequence *stack, const struct operation *operation) {
    bool marked = stack->marked;
    switch (operation->kind) {
    case PUSH:
        sequence_push(stack, operation->given);
        stack->marked = false;
        return operation->answer == marked;
    case DRAIN: return operation->answer == sequence_take_all(stack);
    default: stack->marked |= stack->count == 0; return operation->answer == (stack->count == 0 && !marked);
    }
}

static void *freeing_two(void *unused) {
    (void)unused;
    push(1, 1);
    say();
    push(1, 2);
    return NULL;
}

static void *freeing_one(void *unused) {
    (void)unused;
    hear();
    push(2, 3);
    return NULL;
}

int main(void) {
    key = link_key_of(0x123456789abcdef0);
    pthread_t a = start(freeing_two, NULL), b = start(freeing_one, NULL);
    mark();
    drain();
    mark();
    finish(a);
    finish(b);
    drain();
    assert(is_linearizable(as_a_marked_stack));
    return 0;
}
