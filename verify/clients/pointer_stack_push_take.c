/* pointer_stack_push_take - a thread pushes two linked elements, another pushes one, a third takes all that it finds.
 *
 * bound     3 threads: 2 pushes of 1 and 2 elements, and 2 takes; 4 elements, one of them there at the start
 * property  each element is taken once, with what its thread wrote; no other thread touches a taken element
 */
#include "sync/pointer_stack.h"
#include "verify/clients/client.h"

enum { ELEMENTS = 4 };

static struct element {
    struct stack_link link;
    uint64_t number, taken;
} elements[ELEMENTS];
static struct pointer_stack stack;

static void push(unsigned newest, unsigned oldest) {
    for (unsigned i = newest; i <= oldest; i++) {
        elements[i].number = i + 1;
        elements[i].link.next = &elements[i + 1].link;
    }
    pointer_stack_push(&stack, &elements[newest].link, &elements[oldest].link);
}

static void take(void) {
    for (struct stack_link *link = pointer_stack_take_all(&stack), *next; link; link = next) {
        struct element *element = (struct element *)link;
        next = link->next;
        link->next = NULL; /* as unmapping would: a race with a thread that still reads it */
        assert(element->number == (uint64_t)(element - elements) + 1);
        element->number = 0;
        element->taken++;
    }
}

static void *pushing_one(void *unused) {
    (void)unused;
    push(1, 1);
    return NULL;
}

static void *pushing_two(void *unused) {
    (void)unused;
    push(2, 3);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    take();
    take();
    return NULL;
}

int main(void) {
    push(0, 0);
    pthread_t a = start(pushing_one, NULL), b = start(pushing_two, NULL), c = start(taking, NULL);
    finish(a);
    finish(b);
    finish(c);
    take();
    assert(pointer_stack_is_empty(&stack));
    for (unsigned i = 0; i < ELEMENTS; i++) assert(elements[i].taken == 1);
    return 0;
}
