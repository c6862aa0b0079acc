/* interpreter.c - runs the program that the environment's PROGRAM spells, see programs.py.
 *
 * All threads go through the same few lines again and again, which is what loops and shared functions look like to the
 * checker. (The batches of compiled programs are the opposite: each line runs once.)
 */
#include "verify/clients/client.h"
#include <stdio.h>

enum { THREADS = 4, STEPS = 12, PLACES = 4, FIELDS = 9, SKIPPED = 98 };
enum kind {
    LOAD,
    STORE,
    FENCE,
    LOCK,
    UNLOCK,
    STRONG,
    WEAK,
    ADD,
    SUB,
    AND,
    OR,
    XOR,
    NAND,
    EXCHANGE,
    PLAIN_LOAD,
    PLAIN_STORE
};

struct step {
    enum kind kind;
    int order, place, operand, expected, failure;
    int guard, parity; /* only if the register of that step is odd, or even; -1: always */
};

static struct step steps[THREADS][STEPS];
static int counts[THREADS];
static int registers[THREADS][STEPS];
static _Atomic(uint32_t) places[PLACES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int swap(const struct step *step) {
    _Atomic(uint32_t) *place = &places[step->place];
    uint32_t seen = (uint32_t)step->expected, wanted = (uint32_t)step->operand;
    int order = step->order, failure = step->failure;
    bool done = step->kind == WEAK ? atomic_compare_exchange_weak_explicit(place, &seen, wanted, order, failure)
                                   : atomic_compare_exchange_strong_explicit(place, &seen, wanted, order, failure);
    return (int)(2 * seen + done);
}

/* What the step's register holds afterwards. */
static int perform(const struct step *step) {
    _Atomic(uint32_t) *place = &places[step->place];
    volatile uint32_t *plain = (volatile uint32_t *)place;
    uint32_t operand = (uint32_t)step->operand;
    int order = step->order;
    switch (step->kind) {
    case LOAD: return (int)atomic_load_explicit(place, order);
    case STORE: atomic_store_explicit(place, operand, order); break;
    case FENCE: atomic_thread_fence(order); break;
    case LOCK: pthread_mutex_lock(&mutex); break;
    case UNLOCK: pthread_mutex_unlock(&mutex); break;
    case STRONG:
    case WEAK: return swap(step);
    case ADD: return (int)atomic_fetch_add_explicit(place, operand, order);
    case SUB: return (int)atomic_fetch_sub_explicit(place, operand, order);
    case AND: return (int)atomic_fetch_and_explicit(place, operand, order);
    case OR: return (int)atomic_fetch_or_explicit(place, operand, order);
    case XOR: return (int)atomic_fetch_xor_explicit(place, operand, order);
    case NAND: return (int)__atomic_fetch_nand(plain, operand, order);
    case EXCHANGE: return (int)atomic_exchange_explicit(place, operand, order);
    case PLAIN_LOAD: return (int)*plain;
    case PLAIN_STORE: *plain = operand;
    }
    return SKIPPED;
}

static void *interpret(void *number) {
    int thread = (int)(intptr_t)number;
    for (int i = 0; i < counts[thread]; i++) {
        const struct step *step = &steps[thread][i];
        bool skipped = step->guard >= 0 && (registers[thread][step->guard] & 1) != step->parity;
        registers[thread][i] = skipped ? SKIPPED : perform(step);
    }
    return NULL;
}

/* FIELDS numbers a step. The environment itself is no memory of the client's. */
static int read_program(void) {
    static char copy[4096];
    snprintf(copy, sizeof copy, "%s", getenv("PROGRAM"));
    char *text = copy;
    int threads = 0;
    while (*text) {
        int field[FIELDS];
        for (int i = 0; i < FIELDS; i++) field[i] = (int)strtol(text, &text, 10);
        int thread = field[0];
        steps[thread][counts[thread]++] =
            (struct step){(enum kind)field[1], field[2], field[3], field[4], field[5], field[6], field[7], field[8]};
        threads = thread + 1;
    }
    return threads;
}

static bool is_shown(const struct step *step) {
    return step->kind == LOAD || step->kind == PLAIN_LOAD || (step->kind >= STRONG && step->kind <= EXCHANGE);
}

int main(void) {
    pthread_t started[THREADS];
    int threads = read_program();
    for (int i = 0; i < threads; i++) started[i] = start(interpret, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++) finish(started[i]);
    for (int i = 0; i < threads; i++)
        for (int k = 0; k < counts[i]; k++)
            if (is_shown(&steps[i][k])) checker_outcome(1, &registers[i][k]);
    for (int i = 0; i < atoi(getenv("PLACES")); i++) {
        int final = (int)atomic_load_explicit(&places[i], memory_order_relaxed);
        checker_outcome(1, &final);
    }
    return 0;
}
