/* table.c - may this thread still write there? Learned, checked, and learned again until it holds.
 *
 * A read need only wait for a new store if a thread can still make one. What a thread may write is not known in advance,
 * so a pass goes by what earlier passes saw: the last event at which a thread ever attempted a write of an address
 * ("expected", frozen during a pass). Every refusal ("this thread is past its last write") is noted, as is every attempt
 * ("learned"). An attempt later than a refusal contradicts it, and the pass is repeated with what it learned. A pass
 * without contradiction has refused nothing that happens in it.
 *
 * A read-modify-write counts on ARRIVAL, even if it then fails or waits: counting only successful writes loses
 * executions in which it would have succeeded had another read waited for it.
 */
#include "engine.h"

#include <string.h>

uint32_t key_of(uint64_t address) {
    uint32_t slot = (uint32_t)((address >> 1) * 0x9E3779B97F4A7C15u >> 51) % KEYS;
    for (unsigned tries = 0; tries < KEYS; tries++, slot = (slot + 1) % KEYS) {
        uint64_t there = atomic_load_explicit(&shared->key[slot], memory_order_relaxed);
        if (there == address) return slot;
        if (!there && atomic_compare_exchange_strong(&shared->key[slot], &there, address)) return slot;
        if (there == address) return slot;
    }
    stop_unable("more than %d atomic addresses", KEYS);
}

void table_begin_pass(void) {
    memset(shared->refused, 0xff, sizeof shared->refused);
    table_adopt();
    shared->restart = 0;
}

bool table_adopt(void) {
    if (!shared->grown) return false;
    shared->grown = 0;
    memcpy(shared->expected, (const void *)shared->learned, sizeof shared->expected);
    return true;
}

bool table_may_write(unsigned thread, uint32_t key, uint32_t event) {
    return shared->expected[key][thread] > event;
}

void table_learn(unsigned thread, uint32_t key, uint32_t event) {
    _Atomic uint32_t *learned = &shared->learned[key][thread];
    uint32_t known = atomic_load_explicit(learned, memory_order_relaxed);
    while (known < event) {
        if (!atomic_compare_exchange_weak(learned, &known, event)) continue;
        shared->grown = 1;
        if (event > shared->refused[key][thread]) shared->restart = 1;
        return;
    }
}

void table_refuse(unsigned thread, uint32_t key, uint32_t event) {
    _Atomic uint32_t *refused = &shared->refused[key][thread];
    uint32_t known = atomic_load_explicit(refused, memory_order_relaxed);
    while (known > event) {
        if (!atomic_compare_exchange_weak(refused, &known, event)) continue;
        if (shared->learned[key][thread] > event) shared->restart = 1;
        return;
    }
}

bool table_contradicted(void) {
    if (shared->restart) return true;
    for (unsigned key = 0; key < KEYS; key++)
        for (unsigned thread = 0; thread < THREADS; thread++)
            if (shared->learned[key][thread] > shared->refused[key][thread]) return true;
    return false;
}
