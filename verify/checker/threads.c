/* threads.c - pthreads for client code, by the linker's --wrap.
 *
 * A mutex is its first word: locking is a read-modify-write that may only read 0, so it waits as a postponed read does.
 * A condition is a counter that signals change; a signal wakes all waiting threads, as POSIX allows.
 */
#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { SPECIFIC_KEYS = 32, DESTRUCTOR_ROUNDS = 4 };

#define ENTER() (client_pc = (uintptr_t)__builtin_return_address(0))

static struct {
    bool used;
    void (*destructor)(void *);
} keys[SPECIFIC_KEYS];
static void *specific[THREADS][SPECIFIC_KEYS];
static unsigned keys_end; /* none was used from here on */

void threads_reset(void) {
    memset(keys, 0, keys_end * sizeof keys[0]);
    for (unsigned i = 0; i < THREADS; i++) memset(specific[i], 0, keys_end * sizeof specific[i][0]);
    keys_end = 0;
}

/* ---- Threads: numbered as they are created, the main one 0. */

EXPORT int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg);
EXPORT int __wrap_pthread_join(pthread_t thread, void **result);
EXPORT int __wrap_pthread_detach(pthread_t thread);
EXPORT pthread_t __wrap_pthread_self(void);
EXPORT int __wrap_pthread_equal(pthread_t one, pthread_t other);
EXPORT void __wrap_pthread_exit(void *result);

EXPORT int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                                 void *arg) {
    ENTER();
    (void)attributes;
    if (run.threads == THREADS) stop_unable("more than %d threads", THREADS);
    unsigned number = run.threads++;
    struct thread *parent = self(), *child = &run.thread[number];
    event_log(CREATE, number, 0, RELAXED);
    shadow_access((uint64_t)thread, sizeof *thread, WRITE_ACCESS);
    *thread = (pthread_t)number + 1;
    child->happened = parent->happened;
    child->depends = parent->depends;
    child->happened.at[number]++;
    view_join(&child->current, view_freeze(&parent->current));
    parent->happened.at[run.current]++;
    fiber_create(number, body, arg);
    return 0;
}

EXPORT int __wrap_pthread_join(pthread_t thread, void **result) {
    ENTER();
    unsigned number = (unsigned)thread - 1;
    if (number >= run.threads || run.thread[number].joined || number == run.current)
        fail("misuse", 0, 0, "join of what cannot be joined");
    struct thread *joiner = self(), *joined = &run.thread[number];
    joiner->joins = number;
    joiner->state = JOINING;
    if (!has_ended(joined)) run_wait();
    joiner->state = READY;
    joined->joined = true;
    event_log(JOIN, number, 0, RELAXED);
    clock_join(&joiner->happened, &joined->happened);
    clock_join(&joiner->depends, &joined->depends);
    view_join(&joiner->current, view_freeze(&joined->current));
    if (!result) return 0;
    shadow_access((uint64_t)result, sizeof *result, WRITE_ACCESS);
    *result = joined->state == DONE ? joined->result : PTHREAD_CANCELED;
    return 0;
}

EXPORT int __wrap_pthread_detach(pthread_t thread) {
    run.thread[(unsigned)thread - 1].joined = true;
    return 0;
}

EXPORT pthread_t __wrap_pthread_self(void) {
    return (pthread_t)run.current + 1;
}

EXPORT int __wrap_pthread_equal(pthread_t one, pthread_t other) {
    return one == other;
}

EXPORT void __wrap_pthread_exit(void *result) {
    ENTER();
    self()->result = result;
    thread_run_destructors();
    self()->happened.at[run.current]++;
    self()->state = DONE;
    run_wait();
}

/* ---- Thread-specific data */

EXPORT int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
EXPORT int __wrap_pthread_key_delete(pthread_key_t key);
EXPORT void *__wrap_pthread_getspecific(pthread_key_t key);
EXPORT int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

EXPORT int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    ENTER();
    unsigned i = 0;
    while (i < SPECIFIC_KEYS && keys[i].used) i++;
    if (i == SPECIFIC_KEYS) return EAGAIN;
    keys[i].used = true;
    if (keys_end <= i) keys_end = i + 1;
    keys[i].destructor = destructor;
    shadow_access((uint64_t)key, sizeof *key, WRITE_ACCESS);
    *key = i;
    return 0;
}

EXPORT int __wrap_pthread_key_delete(pthread_key_t key) {
    keys[key].used = false;
    for (unsigned i = 0; i < THREADS; i++) specific[i][key] = NULL;
    return 0;
}

EXPORT void *__wrap_pthread_getspecific(pthread_key_t key) {
    return specific[run.current][key];
}

EXPORT int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    specific[run.current][key] = (void *)value;
    return 0;
}

void thread_run_destructors(void) {
    if (run.current == 0) return; /* returning from main runs none */
    for (unsigned round = 0; round < DESTRUCTOR_ROUNDS; round++)
        for (unsigned i = 0; i < keys_end; i++) {
            void *value = specific[run.current][i];
            specific[run.current][i] = NULL;
            if (value && keys[i].used && keys[i].destructor) keys[i].destructor(value);
        }
}

/* ---- Mutex, once, condition: each is the 32-bit word at its start. */

EXPORT int __wrap_pthread_mutex_init(void *mutex, const void *attributes);
EXPORT int __wrap_pthread_mutex_destroy(void *mutex);
EXPORT int __wrap_pthread_mutex_lock(void *mutex);
EXPORT int __wrap_pthread_mutex_trylock(void *mutex);
EXPORT int __wrap_pthread_mutex_unlock(void *mutex);
EXPORT int __wrap_pthread_once(void *once, void (*function)(void));
EXPORT int __wrap_pthread_cond_init(void *condition, const void *attributes);
EXPORT int __wrap_pthread_cond_destroy(void *condition);
EXPORT int __wrap_pthread_cond_wait(void *condition, void *mutex);
EXPORT int __wrap_pthread_cond_signal(void *condition);
EXPORT int __wrap_pthread_cond_broadcast(void *condition);
EXPORT int __wrap_sched_yield(void);

static int word_init(void *word) {
    shadow_access((uint64_t)word, 4, WRITE_ACCESS);
    memset(word, 0, 4);
    return 0;
}

EXPORT int __wrap_pthread_mutex_init(void *mutex, const void *attributes) {
    ENTER();
    (void)attributes;
    return word_init(mutex);
}

EXPORT int __wrap_pthread_mutex_destroy(void *mutex) {
    ENTER();
    return word_init(mutex);
}

EXPORT int __wrap_pthread_mutex_lock(void *mutex) {
    ENTER();
    model_lock((uint64_t)mutex);
    return 0;
}

EXPORT int __wrap_pthread_mutex_trylock(void *mutex) {
    ENTER();
    uint64_t unlocked = 0;
    const enum order orders[2] = {ACQUIRE, RELAXED};
    struct request wanted = {.kind = CAS};
    return model_compare_exchange(wanted, &unlocked, 1, 4, orders, (uint64_t)mutex) ? 0 : EBUSY;
}

EXPORT int __wrap_pthread_mutex_unlock(void *mutex) {
    ENTER();
    model_store((uint64_t)mutex, 4, 0, RELEASE);
    return 0;
}

EXPORT int __wrap_pthread_once(void *once, void (*function)(void)) {
    ENTER();
    uintptr_t pc = client_pc;
    if (!model_once_begin((uint64_t)once)) return 0;
    function();
    client_pc = pc;
    model_store((uint64_t)once, 4, 2, RELEASE);
    return 0;
}

EXPORT int __wrap_pthread_cond_init(void *condition, const void *attributes) {
    ENTER();
    (void)attributes;
    return word_init(condition);
}

EXPORT int __wrap_pthread_cond_destroy(void *condition) {
    ENTER();
    return word_init(condition);
}

EXPORT int __wrap_pthread_cond_wait(void *condition, void *mutex) {
    ENTER();
    uintptr_t pc = client_pc;
    uint64_t before = model_load((uint64_t)condition, 4, RELAXED);
    model_store((uint64_t)mutex, 4, 0, RELEASE);
    model_wait_change((uint64_t)condition, before);
    client_pc = pc;
    model_lock((uint64_t)mutex);
    return 0;
}

EXPORT int __wrap_pthread_cond_signal(void *condition) {
    ENTER();
    model_update((uint64_t)condition, 4, ADD, 1, RELAXED);
    return 0;
}

EXPORT int __wrap_pthread_cond_broadcast(void *condition) {
    ENTER();
    model_update((uint64_t)condition, 4, ADD, 1, RELAXED);
    return 0;
}

/* The loop it stands in waits for another value of what it read last. */
EXPORT int __wrap_sched_yield(void) {
    if (!run.active) return 0;
    self()->spun_on = self()->last_read;
    self()->spun_value = self()->last_value;
    return 0;
}

/* ---- Not modelled: better no verdict than a wrong one. */

#define UNSUPPORTED(name)                                                                                              \
    EXPORT _Noreturn void __wrap_##name(void);                                                                         \
    EXPORT _Noreturn void __wrap_##name(void) {                                                                        \
        stop_unable("the client calls " #name ", which the checker does not know");                                    \
    }

UNSUPPORTED(pthread_rwlock_rdlock)
UNSUPPORTED(pthread_rwlock_wrlock)
UNSUPPORTED(pthread_spin_lock)
UNSUPPORTED(pthread_barrier_wait)
UNSUPPORTED(pthread_cond_timedwait)
UNSUPPORTED(pthread_mutex_timedlock)
UNSUPPORTED(pthread_cancel)
UNSUPPORTED(sem_wait)
UNSUPPORTED(fork)
