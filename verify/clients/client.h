/* client.h - what every client begins with.
 *
 * A client is one small program: main sets up, creates threads, joins them and checks what is left. Our checker runs
 * main once for each execution; GenMC and a plain compiler take the same text. A client writes each object that it
 * gets as a whole, by plain stores, and reads it back before it frees it. So memory given out twice is a race.
 */
#ifndef JW_CLIENT_H
#define JW_CLIENT_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verify/checker/checker.h"

/* Starts a thread, or ends one, of a client; the checkers have no failing pthread_create. */
static inline pthread_t start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, argument);
    return thread;
}

static inline void finish(pthread_t thread) {
    pthread_join(thread, NULL);
}

/* The next word of an object that is written or read: each; for GenMC, where an event costs much, first and last. */
static inline size_t next_word(size_t i, size_t size) {
#ifdef GENMC
    if (i < size / sizeof(uint64_t) - 1) return size / sizeof(uint64_t) - 1;
#endif
    (void)size;
    return i + 1;
}

/* Writes all of an object, and later finds it as it was. */
static inline void fill(void *object, size_t size, uint64_t value) {
    for (size_t i = 0; i < size / sizeof(uint64_t); i = next_word(i, size)) ((uint64_t *)object)[i] = value;
}

static inline void expect(const void *object, size_t size, uint64_t value) {
    for (size_t i = 0; i < size / sizeof(uint64_t); i = next_word(i, size))
        assert(((const uint64_t *)object)[i] == value);
}

/* Copies memory that consists of objects of `part` bytes. */
static inline void copy_filled(uint64_t *to, const uint64_t *from, size_t size, size_t part) {
    for (size_t at = 0; at < size / sizeof(uint64_t); at += part / sizeof(uint64_t))
        for (size_t i = 0; i < part / sizeof(uint64_t); i = next_word(i, part)) to[at + i] = from[at + i];
}

#endif
