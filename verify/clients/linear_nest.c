/* linear_nest - threads place ranges of a class in a Nest and take them, any or a given one.
 *
 * bound     3 threads: 2 places | 1 take of any range | 1 take of a given range or of any, and in the end 3 of any; 2
 *           slots; 1 range there before
 * property  linearizable as a bag: some order of all operations explains what each has answered, and keeps the order of
 *           those of which one ended before the other began; but a take may find nothing though the bag is not empty,
 *           if each range in it was placed or may have been taken meanwhile
 */
#include "backend/nest.h"
#include "verify/clients/history.h"
#include "verify/clients/records.h"

enum { CLASS = 1, FIRST = 8, SECOND = 9, THIRD = 10 };
enum { PLACE, TAKE, TAKE_GIVEN };

static struct nest nest;

static void place(unsigned thread, granule_id range) {
    hold(range);
    struct operation *operation = begin_operation(thread, PLACE, range);
    leaf_set(range, leaf_free(0));
    end_operation(operation, thread, nest_place(&nest, CLASS, range));
}

static void take(unsigned thread) {
    struct operation *operation = begin_operation(thread, TAKE, 0);
    granule_id range = nest_take(&nest, CLASS);
    if (range) hold(range);
    end_operation(operation, thread, range);
}

static void take_given(unsigned thread, granule_id range) {
    struct operation *operation = begin_operation(thread, TAKE_GIVEN, range);
    bool taken = nest_take_this(&nest, CLASS, range, leaf_free(0));
    if (taken) hold(range);
    end_operation(operation, thread, taken);
}

static bool removes(struct sequence *bag, uint32_t range) {
    for (unsigned i = 0; i < bag->count; i++)
        if (bag->element[i] == range) {
            bag->element[i] = bag->element[--bag->count];
            return true;
        }
    return false;
}

/* Whether no operation took the range, or may have had it in its hands, before the end of this one. */
static bool stays(uint32_t range, unsigned this) {
    for (unsigned i = next_operation(0); i < HISTORY_ALL; i = next_operation(i + 1)) {
        const struct operation *other = operation_at(i);
        uint32_t of = other->kind == TAKE ? other->answer : other->kind == TAKE_GIVEN ? other->given : 0;
        if (of == range && !ended_before(this, i)) return false;
    }
    return true;
}

/* Whether a range was in the bag from the beginning of this operation to its end. */
static bool is_there_throughout(const struct operation *operation) {
    unsigned this = (unsigned)(operation - &history[0][0]);
    for (unsigned i = next_operation(0); i < HISTORY_ALL; i = next_operation(i + 1)) {
        const struct operation *other = operation_at(i);
        if (other->kind == PLACE && other->answer && ended_before(i, this) && stays(other->given, this)) return true;
    }
    return false;
}

static bool as_a_bag(struct sequence *bag, const struct operation *operation) {
    bool done = operation->answer;
    switch (operation->kind) {
    case PLACE:
        if (done) sequence_push(bag, operation->given);
        return done;
    case TAKE: return done ? removes(bag, operation->answer) : !is_there_throughout(operation);
    default:
        if (done) return removes(bag, operation->given);
        return true;
    }
}

static void *placing(void *unused) {
    (void)unused;
    place(1, SECOND);
    say();
    place(1, THIRD);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    hear();
    take(2);
    return NULL;
}

int main(void) {
    records_start();
    place(0, FIRST);
    pthread_t a = start(placing, NULL), b = start(taking, NULL);
    if (checker_choose(2)) take_given(0, FIRST);
    else take(0);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < 3; i++) take(0);
    assert(is_linearizable(as_a_bag));
    return 0;
}
