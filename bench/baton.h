/* baton.h - replays what the threads of another process did: a thread for each of them, which take turns. The thread
 * that holds the baton does its operations up to the next one of another thread, and hands over. So the order is the
 * recorded one. Only turns are timed.
 *
 * The program that includes this has defined CHECK, and defines the three functions.
 */
#ifndef BENCH_BATON_H
#define BENCH_BATON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* How many operations there are; the thread of an operation, from 0. */
static uint64_t baton_operations(void);
static uint32_t baton_thread_of(uint64_t operation);

/* Does an operation. Returns whether its thread ends with it. */
static bool baton_operate(uint64_t operation);

struct player {
    pthread_t thread;
    pthread_cond_t turn;
    bool running, joinable;
};

/* `next`: the operation that is next, for the holder. */
static struct baton {
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    struct player *players;
    uint64_t next;
    uint32_t threads;
    double in_turns; /* seconds */
} baton = {.mutex = PTHREAD_MUTEX_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};

static inline double baton_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline bool baton_is_of(uint32_t thread) {
    return baton.next < baton_operations() && baton_thread_of(baton.next) == thread;
}

static void *baton_play(void *player);

/* The next thread may not have begun, or have ended and be needed again. */
static inline void baton_hand_over(void) {
    if (baton.next == baton_operations()) {
        pthread_cond_signal(&baton.finished);
        for (uint32_t i = 0; i < baton.threads; i++) pthread_cond_signal(&baton.players[i].turn);
        return;
    }
    struct player *next = &baton.players[baton_thread_of(baton.next)];
    if (next->running) {
        pthread_cond_signal(&next->turn);
        return;
    }
    if (next->joinable) pthread_detach(next->thread);
    next->running = next->joinable = true;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
    CHECK(pthread_create(&next->thread, &attributes, baton_play, next) == 0);
    pthread_attr_destroy(&attributes);
}

static void *baton_play(void *player) {
    struct player *self = (struct player *)player;
    uint32_t thread = (uint32_t)(self - baton.players);
    bool done = false;
    pthread_mutex_lock(&baton.mutex);
    while (!done) {
        while (baton.next < baton_operations() && !baton_is_of(thread)) pthread_cond_wait(&self->turn, &baton.mutex);
        if (baton.next == baton_operations()) break;
        double start = baton_seconds();
        while (!done && baton_is_of(thread)) done = baton_operate(baton.next++);
        baton.in_turns += baton_seconds() - start;
        if (done) self->running = false;
        baton_hand_over();
    }
    pthread_mutex_unlock(&baton.mutex);
    return NULL;
}

/* Does all operations. `players`: zeroed, one for each thread. */
static inline void baton_replay(struct player *players, uint32_t threads) {
    baton.players = players;
    baton.threads = threads;
    for (uint32_t i = 0; i < threads; i++) CHECK(pthread_cond_init(&players[i].turn, NULL) == 0);
    pthread_mutex_lock(&baton.mutex);
    baton_hand_over();
    while (baton.next < baton_operations()) pthread_cond_wait(&baton.finished, &baton.mutex);
    pthread_mutex_unlock(&baton.mutex);
    for (uint32_t i = 0; i < threads; i++)
        if (players[i].joinable) CHECK(pthread_join(players[i].thread, NULL) == 0);
}

#endif
