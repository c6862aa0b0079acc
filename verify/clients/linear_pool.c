/* linear_pool - a heap's thread pushes empty slabs to its pool and pops them, while two rounds take all of them.
 *
 * bound     3 threads: 1 pop and 1 push by the owner, and in the end 1 take | 1 take | 1 take; 2 slabs there before
 * property  linearizable as a stack: some order of all operations explains what each has answered, and keeps the order
 *           of those of which one ended before the other began; but a pool may seem empty to a round during a pop. The
 *           owner's count is never below the number of slabs
 */
#include "frontend/pool.h"
#include "verify/clients/history.h"

enum { SLABS = 3, PUSH = 0, POP, TAKE_ALL };

static struct slab slabs[SLABS + 1]; /* the first would have number 0 */
static struct pool pool;
_Static_assert(sizeof(struct slab) == RECORD_SIZE, "the slabs are a table of records");

static uint32_t number_of(const struct slab *slab) {
    return slab ? (uint32_t)(slab - slabs) : 0;
}

static void push(uint32_t number) {
    struct operation *operation = begin_operation(0, PUSH, number);
    pool_push(&pool, &slabs[number]);
    end_operation(operation, 0, 0);
}

static void pop(void) {
    struct operation *operation = begin_operation(0, POP, 0);
    end_operation(operation, 0, number_of(pool_pop(&pool)));
}

static uint32_t take(unsigned thread) {
    struct operation *operation = begin_operation(thread, TAKE_ALL, 0);
    uint32_t all = 0, count = 0;
    for (struct slab *slab = pool_take_all(&pool); slab; slab = slab_by_id(&slab->freed.next), count++)
        all = all * 16 + number_of(slab);
    end_operation(operation, thread, all);
    return count;
}

static bool as_a_stack(struct sequence *stack, const struct operation *operation) {
    if (operation->kind == PUSH) sequence_push(stack, operation->given);
    if (operation->kind == POP) return operation->answer == sequence_pop(stack);
    if (operation->kind == TAKE_ALL && !operation->answer && overlaps(operation, POP)) return true;
    return operation->kind == PUSH || operation->answer == sequence_take_all(stack);
}

static void *taking(void *thread) {
    if ((size_t)thread == 1) hear(); /* perhaps of the pops' end */
    take((unsigned)(size_t)thread);
    return NULL;
}

int main(void) {
    page_map.records = (char *)slabs;
    push(1);
    push(2);
    pthread_t a = start(taking, (void *)1), b = start(taking, (void *)2);
    pop();
    say();
    push(3);
    finish(a);
    finish(b);
    uint32_t count = pool.count, left = take(0);
    assert(left <= count);
    assert(is_linearizable(as_a_stack));
    return 0;
}
