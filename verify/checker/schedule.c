/* schedule.c - one execution. There is no choice of schedule: of the threads that can go on, the first does, until it
 * must wait. All choice is in which store a read reads: one that exists, or one still to come (the read is postponed).
 *
 * A postponed read that gets no new store is a dead end: the same read could have read what existed, and another
 * execution of the tree does that. Dead ends are foreseen by closing "threads that may still move" under "threads that
 * may still write what another waits for"; a thread outside of it waits in vain.
 */
#include "engine.h"

#include <string.h>
#include <sys/mman.h>

struct run run;
struct event events[EVENTS];

enum { RUN_MEMORY = 64 << 20 };
static uint8_t *run_memory;
static size_t run_memory_used;

void *run_allocate(size_t size) {
    size_t at = run_memory_used;
    run_memory_used += (size + 15) & ~(size_t)15;
    if (run_memory_used > RUN_MEMORY) stop_unable("an execution needs more than %d MB of views", RUN_MEMORY >> 20);
    return run_memory + at;
}

void run_release(void) {
    if (!run_memory) run_memory = memory_map(0, RUN_MEMORY, false);
    run_memory_used = 0;
}

bool may_fail_spuriously(const struct thread *thread, const struct store *store) {
    return thread->request.weak && thread->spurious < settings.spurious && store->value == thread->request.expected &&
           sc_allows(thread, store);
}

static bool repeats_spin(const struct thread *thread, const struct store *store) {
    return thread->spun_on == thread->request.location && store->value == thread->spun_value;
}

/* May the thread's request read this store? Not considering spurious failure. */
bool admissible(const struct thread *thread, const struct store *store) {
    const struct request *request = &thread->request;
    if (store->label < request->lower || !sc_allows(thread, store)) return false;
    switch (request->kind) {
    case LOCK: return !store->taken && store->value == 0;
    case ONCE: return store->value == 2 || (store->value == 0 && !store->taken);
    case RMW: return !store->taken && !repeats_spin(thread, store);
    case CAS:
        if (store->value == request->expected) return !store->taken;
        return !repeats_spin(thread, store);
    default: return !repeats_spin(thread, store);
    }
}

static bool finds_store(const struct thread *thread, uint32_t since) {
    const struct request *request = &thread->request;
    if (request->location->last_sequence <= since) return false;
    for (struct store *s = request->location->newest; s && s->label >= request->lower; s = s->older)
        if (s->sequence > since && (admissible(thread, s) || may_fail_spuriously(thread, s))) return true;
    return false;
}

static bool can_wake(const struct thread *thread) {
    return finds_store(thread, thread->request.since);
}

/* Waits because it must, not because it was postponed. */
static bool is_stuck(const struct thread *thread) {
    return !finds_store(thread, 0);
}

static bool can_go(const struct thread *thread) {
    return thread->state == READY || (thread->state == WAITING && can_wake(thread)) ||
           (thread->state == JOINING && has_ended(&run.thread[thread->joins]));
}

/* Would an active thread go on to give this one what it waits for? */
static bool is_hoped_for(const struct thread *thread, unsigned active) {
    if (thread->state == JOINING) return active >> thread->joins & 1;
    for (unsigned left = active; left; left &= left - 1)
        if (table_may_write((unsigned)__builtin_ctz(left), thread->request.location->key)) return true;
    return false;
}

/* The threads that may still move, as bits; with those that active ones may still create. */
static unsigned active_threads(void) {
    unsigned active = 0, waiting = 0, before;
    for (unsigned i = 0; i < run.threads; i++) {
        const struct thread *thread = &run.thread[i];
        if (can_go(thread)) active |= 1u << i;
        else if (thread->state == WAITING || thread->state == JOINING) waiting |= 1u << i;
    }
    if (active) active |= (1u << THREADS) - (1u << run.threads);
    do {
        before = active;
        for (unsigned left = waiting & ~active; left; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctz(left);
            if (is_hoped_for(&run.thread[i], active)) active |= 1u << i;
        }
    } while (active != before);
    return active;
}

/* Notes what the verdict "these wait in vain" rests on. */
static void note_refusals(unsigned active) {
    for (unsigned i = 0; i < run.threads; i++) {
        if (run.thread[i].state != WAITING || active >> i & 1) continue;
        for (unsigned other = 0; other < THREADS; other++)
            if (active >> other & 1) table_refuse(other, run.thread[i].request.location->key);
    }
}

static bool waits_in_vain(void) {
    unsigned postponed = 0;
    for (unsigned i = 0; i < run.threads; i++)
        if (run.thread[i].state == WAITING && !is_stuck(&run.thread[i])) postponed |= 1u << i;
    if (!postponed) return false;
    unsigned active = active_threads();
    if (!(postponed & ~active)) return false;
    note_refusals(active);
    return true;
}

/* Called before anything is chosen: a dead end found now is one, found later it is many. */
void run_end_if_vain(void) {
    if (choice_replays() || !run.postponements || !waits_in_vain()) return;
    run.vain = true;
    fiber_leave();
}

/* May the running thread's request wait for a store to come? */
bool may_postpone(void) {
    struct thread *thread = self();
    thread->state = WAITING;
    thread->request.since = run.sequence;
    unsigned active = active_threads();
    if (!(active >> run.current & 1)) note_refusals(active);
    thread->state = READY;
    return active >> run.current & 1;
}

void run_wait(void) {
    struct thread *thread = self();
    thread->pc = client_pc;
    fiber_leave();
    client_pc = thread->pc;
    thread->state = READY;
}

_Noreturn void run_block(void) {
    self()->state = BLOCKED;
    fiber_leave();
    __builtin_trap();
}

/* A thread that has stopped writes nothing any more, so no other one may hope for it. */
void run_may_stop(uint64_t address) {
    struct thread *thread = self();
    if (!thread->may_stop) return;
    run_end_if_vain();
    if (choose(2, STOP, address) == 0) return;
    event_log(STOP, address, 0, RELAXED);
    run.stopped = true;
    thread->happened.at[run.current]++;
    thread->state = STOPPED;
    fiber_leave();
    __builtin_trap();
}

struct event *event_log(enum operation operation, uint64_t address, unsigned size, enum order order) {
    struct thread *thread = self();
    if (++thread->events > THREAD_EVENTS)
        fail("endless", address, 0, "more than %d events in a thread: a loop that neither ends nor yields",
             THREAD_EVENTS);
    if (run.events == EVENTS) stop_unable("more than %d events in an execution", EVENTS);
    thread->depends.at[run.current] = thread->events;
    struct event *event = &events[run.events++];
    *event = (struct event){.thread = (uint8_t)run.current,
                            .operation = (uint8_t)operation,
                            .address = address,
                            .size = (uint8_t)size,
                            .order = (uint8_t)order,
                            .pc = (uint32_t)client_pc,
                            .from = -1};
    return event;
}

static void reset(void) {
    run_release();
    run.threads = 1;
    run.current = run.locations = run.stores = run.sequence = run.events = run.postponements = 0;
    run.vain = run.stopped = false;
    run.steps = 0;
    run.number++;
    choice_position = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *thread = &run.thread[i];
        thread->state = ABSENT;
        thread->events = thread->spurious = 0;
        thread->last_read = thread->spun_on = NULL;
        thread->repeats = 0;
        thread->joined = thread->may_stop = false;
        thread->happened = thread->acquirable = thread->released = thread->depends = (struct clock){{0}};
        view_clear(&thread->current);
        view_clear(&thread->pending);
        thread->release_view = NULL;
        thread->depth = 0;
        thread->callers[0] = 0;
    }
    run.thread[0].happened.at[0] = 1;
    memory_restore();
    shadow_reset();
    heap_reset();
    threads_reset();
    outcome_reset();
    model_reset();
}

static void *client_body(void *unused) {
    int status = settings.client();
    if (status) fail("abort", 0, 0, "main returned %d", status);
    return unused;
}

/* No thread can go on, and none waits by choice. */
static _Noreturn void fail_blocked(void) {
    const struct thread *spinner = NULL, *waiter = NULL;
    for (unsigned i = 0; i < run.threads; i++) {
        const struct thread *thread = &run.thread[i];
        if (thread->state == WAITING) waiter = thread;
        if (thread->state == WAITING && thread->spun_on == thread->request.location) spinner = thread;
    }
    const struct thread *shown = spinner ? spinner : waiter ? waiter : self();
    run.current = (unsigned)(shown - run.thread);
    client_pc = shown->pc;
    uint64_t address = shown->state == WAITING ? shown->request.location->address : 0;
    if (spinner) fail("livelock", address, 0, "it spins on a value that nobody will change");
    fail("deadlock", address, 0, "all threads wait");
}

/* The first thread that can go on; THREADS: none. */
static unsigned next_thread(bool *left, bool *postponed) {
    unsigned next = THREADS;
    *left = *postponed = false;
    for (unsigned i = 0; i < run.threads; i++) {
        const struct thread *thread = &run.thread[i];
        if (has_ended(thread)) continue;
        *left = true;
        if (thread->state == BLOCKED || (thread->state == WAITING && !is_stuck(thread))) *postponed = true;
        if (next == THREADS && can_go(thread)) next = i;
    }
    return next;
}

bool run_execution(void) {
    reset();
    fiber_create(0, client_body, NULL);
    run.active = true;
    for (;;) {
        bool left, postponed;
        unsigned next = next_thread(&left, &postponed);
        if (!left) break;
        if (next == THREADS || (postponed && !choice_replays() && waits_in_vain())) {
            if (next == THREADS && !postponed) fail_blocked();
            run.active = false;
            return false;
        }
        run.current = next;
        fiber_enter(next);
        if (run.vain) {
            run.active = false;
            return false;
        }
    }
    run.current = 0;
    if (!run.stopped) heap_check_leaks();
    run.active = false;
    outcome_commit();
    return true;
}
