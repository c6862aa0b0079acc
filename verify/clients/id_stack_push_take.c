/* id_stack_push_take - two threads push an element each while a third takes all that it finds.
 *
 * bound     3 threads: 2 pushes and 2 takes; 3 elements, one of them there at the start
 * property  each element is taken once, with what its thread wrote into it
 */
#include "sync/id_stack.h"
#include "verify/clients/client.h"

enum { ELEMENTS = 3 };

static struct id_stack stack;
static uint32_t next_of[ELEMENTS + 1];
static uint64_t payload[ELEMENTS + 1], taken[ELEMENTS + 1];

static void set_next(uint32_t id, uint32_t next) {
    next_of[id] = next;
}

static void push(uint32_t id) {
    payload[id] = id;
    id_stack_push(&stack, id, set_next);
}

static void take(void) {
    for (uint32_t id = id_stack_take_all(&stack), next; id; id = next) {
        next = next_of[id];
        assert(payload[id] == id);
        payload[id] = 0;
        taken[id]++;
    }
}

static void *pushing(void *id) {
    push((uint32_t)(size_t)id);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    take();
    take();
    return NULL;
}

int main(void) {
    push(1);
    pthread_t a = start(pushing, (void *)2), b = start(pushing, (void *)3), c = start(taking, NULL);
    finish(a);
    finish(b);
    finish(c);
    take();
    assert(id_stack_is_empty(&stack));
    for (uint32_t id = 1; id <= ELEMENTS; id++) assert(taken[id] == 1);
    return 0;
}
