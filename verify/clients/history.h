/* history.h - the operations of a client, with what they were given and what they answered. At the end of an execution
 * the client asks whether they are linearizable: some order of all operations explains each answer, as if each had run
 * alone. In that order an operation that ended before another one began comes first.
 *
 * Under a weak memory model "before" is happens-before: a thread has seen the end of the operation, perhaps by a word
 * that the client writes for this (said). Threads are numbered as they start; main is 0.
 */
#ifndef JW_HISTORY_H
#define JW_HISTORY_H

#include "verify/clients/client.h"

enum { HISTORY_THREADS = 3, HISTORY_EACH = 6, HISTORY_ALL = HISTORY_THREADS * HISTORY_EACH, SEQUENCE_MOST = 8 };

struct operation {
    unsigned kind;
    uint32_t given, answer;
    unsigned known[HISTORY_THREADS]; /* steps of each thread that happen before the beginning */
    unsigned end;                    /* the thread's own steps at the end; 0: there was no such operation */
};

/* What the structure holds in the sequential specification: the newest element last. */
struct sequence {
    unsigned count;
    uint32_t element[SEQUENCE_MOST];
    bool marked;
};

/* Whether the operation could answer so, alone. Changes the sequence. */
typedef bool specification(struct sequence *sequence, const struct operation *operation);

static struct operation history[HISTORY_THREADS][HISTORY_EACH];
static unsigned history_count[HISTORY_THREADS];
static _Atomic(uint32_t) said;

/* Publishes that this thread's operations up to now have ended; and looks whether the others' have. */
static inline void say(void) {
    atomic_store_explicit(&said, 1, memory_order_release);
}

static inline void hear(void) {
    (void)atomic_load_explicit(&said, memory_order_acquire);
}

static inline struct operation *begin_operation(unsigned thread, unsigned kind, uint32_t given) {
    assert(history_count[thread] < HISTORY_EACH);
    struct operation *operation = &history[thread][history_count[thread]++];
    operation->kind = kind;
    operation->given = given;
    for (unsigned i = 0; i < HISTORY_THREADS; i++) operation->known[i] = checker_known_steps(i);
    return operation;
}

static inline void end_operation(struct operation *operation, unsigned thread, uint32_t answer) {
    operation->answer = answer;
    operation->end = checker_known_steps(thread) + 1; /* + 1 here and in ended_before: other checkers know nothing */
}

/* The first or next operation that was made, by number; HISTORY_ALL: there is none. */
static inline unsigned next_operation(unsigned i) {
    while (i < HISTORY_ALL && !history[i / HISTORY_EACH][i % HISTORY_EACH].end) i++;
    return i;
}

static inline const struct operation *operation_at(unsigned i) {
    return &history[i / HISTORY_EACH][i % HISTORY_EACH];
}

static inline bool ended_before(unsigned one, unsigned other) {
    unsigned thread = one / HISTORY_EACH, end = operation_at(one)->end;
    if (thread == other / HISTORY_EACH) return one < other;
    return end > 1 && operation_at(other)->known[thread] + 1 >= end;
}

/* Whether an operation of that kind overlaps this one: neither ended before the other. */
static inline bool overlaps(const struct operation *operation, unsigned kind) {
    unsigned this = (unsigned)(operation - &history[0][0]);
    for (unsigned i = next_operation(0); i < HISTORY_ALL; i = next_operation(i + 1))
        if (operation_at(i)->kind == kind && i != this && !ended_before(i, this) && !ended_before(this, i)) return true;
    return false;
}

/* Whether an operation that is not in `done` ended before this one, which so cannot be the next. */
static inline bool must_wait(unsigned done, unsigned this) {
    for (unsigned i = next_operation(0); i < HISTORY_ALL; i = next_operation(i + 1))
        if (!(done >> i & 1) && i != this && ended_before(i, this)) return true;
    return false;
}

/* Not as a whole, which GenMC would take for one access. */
static inline void sequence_copy(struct sequence *to, const struct sequence *from) {
    for (unsigned i = 0; i < from->count; i++) to->element[i] = from->element[i];
    to->count = from->count;
    to->marked = from->marked;
}

static inline bool can_be_ordered(const struct sequence *sequence, unsigned done, specification *specified) {
    bool left = false;
    for (unsigned i = next_operation(0); i < HISTORY_ALL; i = next_operation(i + 1)) {
        if (done >> i & 1) continue;
        left = true;
        struct sequence next;
        sequence_copy(&next, sequence);
        if (!must_wait(done, i) && specified(&next, operation_at(i)) &&
            can_be_ordered(&next, done | 1u << i, specified))
            return true;
    }
    return !left;
}

/* By main, after all threads have ended. The first operations find the structure empty. */
static inline bool is_linearizable(specification *specified) {
    static const struct sequence empty;
    return can_be_ordered(&empty, 0, specified);
}

/* ---- The specifications' steps */

static inline void sequence_push(struct sequence *sequence, uint32_t element) {
    assert(sequence->count < SEQUENCE_MOST);
    sequence->element[sequence->count++] = element;
}

/* The newest element; 0: none. */
static inline uint32_t sequence_pop(struct sequence *sequence) {
    return sequence->count ? sequence->element[--sequence->count] : 0;
}

/* All elements as the digits of a number, the newest first. */
static inline uint32_t sequence_take_all(struct sequence *sequence) {
    uint32_t all = 0;
    while (sequence->count) all = all * 16 + sequence_pop(sequence);
    return all;
}

#endif
