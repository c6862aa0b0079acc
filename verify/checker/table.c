/* table.c - may this thread still write there? Learned, checked, and learned again until it holds.
 *
 * A read need only wait for a new store if a thread can still make one. What a thread may write is not known in advance,
 * so a pass goes by what earlier passes saw ("expected", frozen during a pass), for each thread and address:
 *
 *   latest   the last of the thread's events at which it ever attempted a write there
 *   after    at which points of the thread it ever went on to attempt one. A point is the place of the thread's last
 *            event in the program, its callers, and what it roughly came to
 *   needs    for each other thread, the least number of its events that an attempt ever depended on. If that thread
 *            waits, it will not have more events than now
 *
 * Every refusal ("this thread will not write there") is noted with its reason, as is every attempt ("learned"). An
 * attempt that was refused contradicts it, and the pass is repeated with what it learned. A pass without contradiction
 * has refused nothing that happens in it.
 *
 * A read-modify-write counts on ARRIVAL, even if it then fails or waits: counting only successful writes loses
 * executions in which it would have succeeded had another read waited for it.
 *
 * In the tables 0 stands for "never": `ease` is the complement of needs, `refused_latest` that of an event.
 */
#include "engine.h"

#include <string.h>

static struct {
    uint64_t run;
    uint32_t count;
} covered[THREADS][KEYS]; /* how many of a thread's points know of an attempt in this run */

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

void table_move(unsigned thread, uint64_t place, unsigned result) {
    static uint64_t seen_in[ROWS];
    struct thread *moved = &run.thread[thread];
    uint64_t callers = moved->callers[moved->depth % CALLERS];
    moved->point = number_of(&shared->points, mixed(mixed(mixed(thread + 1, callers), place), result), POINTS);
    if (moved->point == POINTS) moved->point += thread; /* no room: it shares a point */
    if (seen_in[moved->point] == run.number) return;
    seen_in[moved->point] = run.number;
    moved->visited[moved->visited_count++] = (uint16_t)moved->point;
}

/* ---- Passes */

static uint32_t used_keys(void) {
    return shared->keys.count < KEYS ? shared->keys.count : KEYS;
}

static uint32_t used_rows(void) {
    return shared->points.count < POINTS ? shared->points.count : ROWS;
}

void table_begin_pass(void) {
    uint32_t keys = used_keys(), rows = used_rows();
    memset((void *)shared->refused_latest, 0, keys * sizeof shared->refused_latest[0]);
    memset((void *)shared->refused_needs, 0, keys * sizeof shared->refused_needs[0]);
    memset((void *)shared->refused_after, 0, rows * sizeof shared->refused_after[0]);
    memcpy(shared->expected_latest, (const void *)shared->learned_latest, keys * sizeof shared->expected_latest[0]);
    memcpy(shared->expected_ease, (const void *)shared->learned_ease, keys * sizeof shared->expected_ease[0]);
    memcpy(shared->expected_after, (const void *)shared->learned_after, rows * sizeof shared->expected_after[0]);
    shared->restart = 0;
}

bool table_has_grown(void) {
    return atomic_exchange(&shared->grown, 0);
}

static bool latest_contradicts(unsigned thread, uint32_t key) {
    return shared->learned_latest[key][thread] > ~shared->refused_latest[key][thread];
}

static bool needs_contradict(unsigned thread, uint32_t key, unsigned other) {
    return ~shared->learned_ease[key][thread][other] < shared->refused_needs[key][thread][other];
}

static bool after_contradicts(uint32_t row, uint32_t word) {
    return shared->learned_after[row][word] & shared->refused_after[row][word];
}

/* Processes learn and refuse side by side: what they noticed is not all. */
bool table_contradicted(void) {
    bool found = shared->restart;
    for (unsigned key = 0; key < used_keys(); key++)
        for (unsigned thread = 0; thread < THREADS; thread++) {
            found |= latest_contradicts(thread, key);
            for (unsigned other = 0; other < THREADS; other++) found |= needs_contradict(thread, key, other);
        }
    for (unsigned row = 0; row < used_rows(); row++)
        for (unsigned word = 0; word < KEYS / 64; word++) found |= after_contradicts(row, word);
    return found;
}

/* ---- Questions; a random walk asks what has been learned so far. */

static bool latest_allows(unsigned thread, uint32_t key) {
    uint32_t latest = choice_is_random() ? shared->learned_latest[key][thread] : shared->expected_latest[key][thread];
    return latest > run.thread[thread].events;
}

static bool point_allows(unsigned thread, uint32_t key) {
    uint32_t row = run.thread[thread].point, word = key / 64;
    uint64_t after = choice_is_random() ? shared->learned_after[row][word] : shared->expected_after[row][word];
    return after >> key % 64 & 1;
}

/* A thread that will not move, and of whose events the write needs more; THREADS: none. */
static unsigned lacking(unsigned thread, uint32_t key, unsigned active) {
    for (unsigned other = 0; other < THREADS; other++) {
        if (active >> other & 1) continue;
        uint32_t ease =
            choice_is_random() ? shared->learned_ease[key][thread][other] : shared->expected_ease[key][thread][other];
        if (~ease > run.thread[other].events) return other;
    }
    return THREADS;
}

bool table_may_write(unsigned thread, uint32_t key, unsigned active) {
    return latest_allows(thread, key) && point_allows(thread, key) && lacking(thread, key, active) == THREADS;
}

/* ---- Notes */

/* Whether it was less. */
static bool raise(_Atomic uint32_t *value, uint32_t to) {
    uint32_t known = atomic_load_explicit(value, memory_order_relaxed);
    while (known < to)
        if (atomic_compare_exchange_weak(value, &known, to)) return true;
    return false;
}

void table_refuse(unsigned thread, uint32_t key, unsigned active) {
    const struct thread *refused = &run.thread[thread];
    bool contradicts = false;
    if (!latest_allows(thread, key)) {
        contradicts = raise(&shared->refused_latest[key][thread], ~refused->events) && latest_contradicts(thread, key);
    } else if (!point_allows(thread, key)) {
        atomic_fetch_or(&shared->refused_after[refused->point][key / 64], (uint64_t)1 << key % 64);
        contradicts = after_contradicts(refused->point, key / 64);
    } else {
        unsigned other = lacking(thread, key, active);
        contradicts = raise(&shared->refused_needs[key][thread][other], run.thread[other].events + 1) &&
                      needs_contradict(thread, key, other);
    }
    if (contradicts) shared->restart = 1;
}

static bool learn_after(uint32_t row, uint32_t key) {
    uint64_t bit = (uint64_t)1 << key % 64;
    _Atomic uint64_t *word = &shared->learned_after[row][key / 64];
    if (atomic_load_explicit(word, memory_order_relaxed) & bit) return false;
    atomic_fetch_or(word, bit);
    if (after_contradicts(row, key / 64)) shared->restart = 1;
    return true;
}

/* The running thread attempts a write as its next event. */
void table_learn(uint32_t key) {
    unsigned thread = run.current;
    const struct thread *writer = &run.thread[thread];
    bool grown = raise(&shared->learned_latest[key][thread], writer->events + 1);
    if (grown && latest_contradicts(thread, key)) shared->restart = 1;
    for (unsigned other = 0; other < THREADS; other++) {
        if (!raise(&shared->learned_ease[key][thread][other], ~writer->depends.at[other])) continue;
        grown = true;
        if (needs_contradict(thread, key, other)) shared->restart = 1;
    }
    if (covered[thread][key].run != run.number) covered[thread][key].count = 0;
    covered[thread][key].run = run.number;
    for (unsigned i = covered[thread][key].count; i < writer->visited_count; i++)
        grown |= learn_after(writer->visited[i], key);
    covered[thread][key].count = writer->visited_count;
    if (grown) shared->grown = 1;
}
