/* table.c - may a read wait? Learned, checked, and learned again until it holds.
 *
 * A read need only wait for a store to come if one can come. What threads may write is not known in advance, so a pass
 * goes by what earlier passes saw ("expected", frozen during a pass):
 *
 *   races    per read (thread, callers, place in the program) and address: another thread attempted a write there after
 *            the read, or without knowing of it. Such a read could as well have waited for that write
 *   latest   per thread and address: the last of the thread's events at which it ever attempted a write there. A thread
 *            past it is no hope
 *
 * Every refusal is noted, as is every race and every attempt ("learned"). What was refused and then seen contradicts,
 * and the pass is repeated with what it learned. A pass without contradiction has refused nothing that happens in it.
 *
 * A read-modify-write counts on ARRIVAL, and as long as it waits, even if it then fails: counting only successful
 * writes loses executions in which it would have succeeded had another read waited for it.
 *
 * In the tables 0 stands for "never"; `refused_latest` holds complements of events.
 */
#include "engine.h"

#include <string.h>

static uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

/* The number of a thing in order of appearance; `most` when there is no room. */
static uint32_t number_of(struct numbering *numbering, uint64_t thing, uint32_t most) {
    uint32_t slot = (uint32_t)(mixed(0, thing) % NUMBERED);
    for (unsigned tries = 0; tries < NUMBERED; tries++, slot = (slot + 1) % NUMBERED) {
        uint64_t there = atomic_load_explicit(&numbering->thing[slot], memory_order_relaxed);
        if (!there && atomic_compare_exchange_strong(&numbering->thing[slot], &there, thing)) {
            uint32_t number = numbering->count++;
            numbering->number[slot] = (number < most ? number : most) + 1;
            there = thing;
        }
        if (there != thing) continue;
        while (!numbering->number[slot]) continue; /* another process is about to say */
        return numbering->number[slot] - 1;
    }
    return most;
}

uint32_t key_of(uint64_t address) {
    uint32_t key = number_of(&shared->keys, address, KEYS);
    if (key == KEYS) stop_unable("more than %d atomic addresses", KEYS);
    return key;
}

/* The row of the running thread's read at this place; if the table is full, reads share a row. */
uint32_t table_read(uint64_t place) {
    const struct thread *thread = self();
    uint64_t reader = mixed(mixed(run.current + 1, thread->callers[thread->depth % CALLERS]), place);
    uint32_t row = number_of(&shared->reads, reader, READS);
    return row < READS ? row : READS + run.current;
}

/* ---- Passes */

static uint32_t used_keys(void) {
    return shared->keys.count < KEYS ? shared->keys.count : KEYS;
}

static uint32_t used_rows(void) {
    return shared->reads.count < READS ? shared->reads.count : ROWS;
}

void table_begin_pass(void) {
    uint32_t keys = used_keys(), rows = used_rows();
    memset((void *)shared->refused_latest, 0, keys * sizeof shared->refused_latest[0]);
    memset((void *)shared->refused_races, 0, rows * sizeof shared->refused_races[0]);
    memcpy(shared->expected_latest, (const void *)shared->learned_latest, keys * sizeof shared->expected_latest[0]);
    memcpy(shared->expected_races, (const void *)shared->learned_races, rows * sizeof shared->expected_races[0]);
    shared->restart = 0;
}

bool table_has_grown(void) {
    return atomic_exchange(&shared->grown, 0);
}

static bool latest_contradicts(unsigned thread, uint32_t key) {
    return shared->learned_latest[key][thread] > ~shared->refused_latest[key][thread];
}

static bool races_contradict(uint32_t row, uint32_t word) {
    return shared->learned_races[row][word] & shared->refused_races[row][word];
}

/* Processes learn and refuse side by side: what they noticed is not all. */
bool table_contradicted(void) {
    bool found = shared->restart;
    for (unsigned key = 0; key < used_keys(); key++)
        for (unsigned thread = 0; thread < THREADS; thread++) found |= latest_contradicts(thread, key);
    for (unsigned row = 0; row < used_rows(); row++)
        for (unsigned word = 0; word < KEYS / 64; word++) found |= races_contradict(row, word);
    return found;
}

/* ---- Questions; a random walk asks what has been learned so far. */

static uint64_t bit_of(uint32_t key) {
    return (uint64_t)1 << key % 64;
}

bool table_may_write(unsigned thread, uint32_t key) {
    uint32_t latest = choice_is_random() ? shared->learned_latest[key][thread] : shared->expected_latest[key][thread];
    return latest > run.thread[thread].events;
}

bool table_may_race(uint32_t row, uint32_t key) {
    uint32_t word = key / 64;
    uint64_t races = choice_is_random() ? shared->learned_races[row][word] : shared->expected_races[row][word];
    if (races & bit_of(key)) return true;
    if (shared->refused_races[row][word] & bit_of(key)) return false;
    atomic_fetch_or(&shared->refused_races[row][word], bit_of(key));
    if (races_contradict(row, word)) shared->restart = 1;
    return false;
}

/* ---- Notes */

/* Whether it was less. */
static bool raise(_Atomic uint32_t *value, uint32_t to) {
    uint32_t known = atomic_load_explicit(value, memory_order_relaxed);
    while (known < to)
        if (atomic_compare_exchange_weak(value, &known, to)) return true;
    return false;
}

/* It was said that the thread will not write there any more. */
void table_refuse(unsigned thread, uint32_t key) {
    if (raise(&shared->refused_latest[key][thread], ~run.thread[thread].events) && latest_contradicts(thread, key))
        shared->restart = 1;
}

static void learn_race(uint32_t row, uint32_t key) {
    _Atomic uint64_t *word = &shared->learned_races[row][key / 64];
    if (atomic_load_explicit(word, memory_order_relaxed) & bit_of(key)) return;
    atomic_fetch_or(word, bit_of(key));
    shared->grown = 1;
    if (races_contradict(row, key / 64)) shared->restart = 1;
}

/* The running thread has read as its event of this number; an update that waits may still write there. */
void table_learn_read(struct location *location, uint32_t row, uint32_t event) {
    struct past_read *read = run_allocate(sizeof *read);
    *read = (struct past_read){location->reads[run.current], event, row};
    location->reads[run.current] = read;
    for (unsigned other = 0; other < run.threads; other++) {
        const struct thread *waiting = &run.thread[other];
        if (waiting->state == WAITING && waiting->request.location == location && waiting->request.kind != LOAD)
            learn_race(row, location->key);
    }
}

/* The running thread attempts a write as its next event. */
void table_learn_attempt(const struct location *location) {
    const struct thread *writer = self();
    if (raise(&shared->learned_latest[location->key][run.current], writer->events + 1)) {
        shared->grown = 1;
        if (latest_contradicts(run.current, location->key)) shared->restart = 1;
    }
    for (unsigned other = 0; other < run.threads; other++) {
        const struct past_read *read = other == run.current ? NULL : location->reads[other];
        for (; read && read->event > writer->depends.at[other]; read = read->older)
            learn_race(read->row, location->key);
    }
}
