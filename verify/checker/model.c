/* model.c - what an atomic operation may do: RC11 without load buffering, as a machine of views.
 *
 * A thread's view holds, per location, the newest store it knows of; it may read that one or newer ones. A store made
 * with release carries the writer's view and clock, reading it with acquire hands them on. Fences move what relaxed
 * reads have seen ("pending") into the view, and what is in the view onto later relaxed stores ("release_view").
 * Release sequences are C++20's: a read-modify-write passes on what it read.
 *
 * A store may be placed in modification order before stores that were executed earlier, where coherence allows. A
 * read-modify-write comes directly after what it read, so only one may read each store.
 *
 * Sequential consistency rules out some of what is left, see sc.c.
 */
#include "engine.h"

#include <string.h>

struct store stores[STORES];

#define LABEL_STEP ((uint64_t)1 << 44)

static uint64_t memory_get(uint64_t address, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const void *)address, size);
    return value;
}

static void memory_set(uint64_t address, unsigned size, uint64_t value) {
    memcpy((void *)address, &value, size);
}

static uint64_t truncated(uint64_t value, unsigned size) {
    return size == 8 ? value : value & (((uint64_t)1 << size * 8) - 1);
}

/* Places a new store after `older` in modification order; NULL: the initial one of a location without stores. */
static struct store *store_insert(struct location *location, struct store *older, uint64_t value) {
    if (run.stores == STORES) stop_unable("more than %d atomic stores in an execution", STORES);
    struct store *store = &stores[run.stores++];
    struct store *newer = older ? older->newer : NULL;
    *store = (struct store){.value = value, .newer = newer, .older = older, .sequence = ++run.sequence, .event = -1};
    if (newer) {
        store->label = older->label + (newer->label - older->label) / 2;
        if (store->label == older->label) stop_unable("too many stores between two others");
        newer->older = store;
    } else {
        store->label = location->top_label += LABEL_STEP;
        location->newest = store;
    }
    if (older) older->newer = store;
    store->thread = (uint8_t)run.current;
    location->last_sequence = store->sequence;
    return store;
}

/* ---- Locations */

void model_reset(void) {
    run.locations = 1;
    sc_reset();
}

static bool overlaps(const struct location *location, uint64_t address, size_t size) {
    return location->address < address + size && address < location->address + location->size;
}

/* Ordered plain writes made it plain memory again: its history is over. */
void location_forget(unsigned first, uint64_t address, size_t size) {
    for (unsigned i = first; i; i = run.location[i].next)
        if (overlaps(&run.location[i], address, size)) run.location[i].newest = NULL;
}

static void forget_other_size(struct location *location) {
    for (struct store *s = location->newest; s; s = s->older)
        if (s->event >= 0 && s->clock > self()->happened.at[s->thread])
            fail("mixed-size", location->address, events[s->event].pc, "concurrent atomics of different sizes");
    for (unsigned i = 0; i < run.threads; i++)
        if (run.thread[i].state == WAITING && run.thread[i].request.location == location)
            fail("mixed-size", location->address, 0, "T%u waits for an atomic of another size there", i);
    location->newest = NULL;
}

/* Before the access that needs it counts as one: a store is about to make these bytes written. */
static void read_initial(struct location *location) {
    struct store *initial = store_insert(location, NULL, memory_get(location->address, location->size));
    initial->uninitialised = shadow_unwritten(location->address, location->size);
}

static struct location *location_at(uint64_t address, unsigned size) {
    if (address & (size - 1)) fail("misaligned", address, 0, "atomic access of %u bytes", size);
    uint16_t *first = shadow_locations(address);
    struct location *found = NULL;
    for (unsigned i = *first; i; i = run.location[i].next) {
        struct location *location = &run.location[i];
        if (location->address == address && location->size == size) found = location;
        else if (location->newest && overlaps(location, address, size)) forget_other_size(location);
    }
    if (!found) {
        if (run.locations == LOCATIONS) stop_unable("more than %d atomic locations in an execution", LOCATIONS);
        found = &run.location[run.locations];
        *found = (struct location){.address = address,
                                   .size = (uint8_t)size,
                                   .key = key_of(address),
                                   .index = (uint16_t)run.locations,
                                   .next = *first};
        *first = (uint16_t)run.locations++;
    }
    if (!found->newest) read_initial(found);
    return found;
}

/* ---- Choosing */

struct candidate {
    struct store *store;
    bool spurious;
};

static unsigned candidates(struct candidate *list, uint32_t since) {
    const struct thread *thread = self();
    unsigned count = 0;
    for (struct store *s = thread->request.location->newest; s && s->label >= thread->request.lower; s = s->older) {
        if (s->sequence <= since) continue;
        if (count + 2 > CANDIDATES) stop_unable("more than %d stores that a read may read", CANDIDATES);
        if (admissible(thread, s)) list[count++] = (struct candidate){s, false};
        if (may_fail_spuriously(thread, s)) list[count++] = (struct candidate){s, true};
    }
    return count;
}

static bool postponement_offered(unsigned count) {
    if (choice_replays()) return choice_recorded_options() > count;
    const struct request *request = &self()->request;
    if (!table_may_race(request->row, request->location->key) || !may_postpone()) return false;
    if (settings.bound < 0 || run.postponements < (unsigned)settings.bound) return true;
    shared->cut = 1;
    return false;
}

static void note_repetition(struct thread *thread, const struct location *location, const struct store *store) {
    bool same = thread->last_read == location && thread->last_value == store->value && thread->request.kind == LOAD;
    thread->repeats = same ? thread->repeats + 1 : 0;
    if (thread->repeats > EQUAL_LOADS)
        fail("endless", location->address, 0, "%d equal loads in a row: a loop that does not yield", EQUAL_LOADS);
}

/* Chooses a store for the request, waiting for one if so chosen. */
static struct candidate read_from(struct request request) {
    static struct candidate list[CANDIDATES];
    struct thread *thread = self();
    struct location *location = request.location;
    request.row = table_read(client_pc);
    thread->request = request;
    if (thread->spun_on != location) thread->spun_on = NULL;
    for (uint32_t since = 0;;) {
        unsigned count = candidates(list, since);
        if (count) {
            run_end_if_vain();
            bool offered = postponement_offered(count);
            unsigned pick = choose(count + offered, request.kind, location->address);
            if (pick < count) {
                struct candidate chosen = list[pick];
                thread->spurious += chosen.spurious;
                if (chosen.store->uninitialised)
                    fail("uninitialised", location->address, 0, "atomic read of bytes never written");
                thread->spun_on = NULL;
                note_repetition(thread, location, chosen.store);
                thread->last_read = location;
                thread->last_value = chosen.store->value;
                return chosen;
            }
            run.postponements++;
        }
        thread->state = WAITING;
        thread->request.since = run.sequence;
        run_wait();
        since = thread->request.since;
    }
}

/* ---- Effects */

static void attempt(const struct location *location) {
    table_learn_attempt(location);
}

static void acquire(const struct location *location, const struct store *store, enum order order) {
    struct thread *thread = self();
    clock_join(&thread->depends, &store->depends);
    view_raise(&thread->current, location->index, store->label);
    if (order == RELAXED || order == RELEASE) {
        view_join(&thread->pending, store->view);
        clock_join(&thread->acquirable, &store->happened);
    } else {
        view_join(&thread->current, store->view);
        clock_join(&thread->happened, &store->happened);
    }
}

static void publish(struct location *location, struct store *store, const struct store *source, struct event *event) {
    struct thread *thread = self();
    bool releases = event->order >= RELEASE, acquires = event->order >= ACQ_REL;
    store->clock = thread->happened.at[run.current];
    store->event = (int32_t)(event - events);
    store->depends = thread->depends;
    store->view = releases ? view_freeze(&thread->current) : thread->release_view;
    store->happened = releases ? thread->happened : thread->released;
    if (source && !(releases && acquires)) {
        store->view = snapshot_join(store->view, source->view);
        clock_join(&store->happened, &source->happened);
    }
    view_raise(&thread->current, location->index, store->label);
    event->sequence = store->sequence;
    event->early = store->newer != NULL;
    if (!event->early) memory_set(location->address, location->size, store->value);
    sc_note(location, store->label, source ? source->label + 1 : store->label, (enum order)event->order);
    thread->happened.at[run.current]++;
}

static void note_source(struct event *event, const struct store *store) {
    table_learn_read(self()->request.location, self()->request.row, self()->events);
    event->from = store->event;
    event->from_sequence = store->sequence;
    event->stale = store->newer != NULL;
}

/* ---- Operations */

static struct request request_for(struct location *location, enum operation kind, enum order order) {
    uint64_t lower = view_get(&self()->current, location->index);
    return (struct request){.location = location, .kind = kind, .lower = lower, .in_sc_order = order == SEQ_CST};
}

uint64_t model_load(uint64_t address, unsigned size, enum order order) {
    if (!run.active) return memory_get(address, size);
    struct location *location = location_at(address, size);
    shadow_access(address, size, ATOMIC_ACCESS | READ_ACCESS);
    struct store *store = read_from(request_for(location, LOAD, order)).store;
    struct event *event = event_log(LOAD, address, size, order);
    event->value = store->value;
    note_source(event, store);
    acquire(location, store, order);
    sc_note(location, store->label, store->label + 1, order);
    return store->value;
}

/* Where in modification order: after any store that coherence allows, but not between a store and its update. */
static struct store *choose_place(struct request request) {
    static struct store *places[CANDIDATES];
    struct location *location = request.location;
    unsigned count = 0;
    self()->request = request;
    for (struct store *s = location->newest; s && s->label >= request.lower; s = s->older) {
        if (count == CANDIDATES) stop_unable("more than %d places for a store", CANDIDATES);
        if (!s->taken && sc_allows(self(), s)) places[count++] = s;
    }
    if (count > 1) run_end_if_vain();
    return places[choose(count, STORE, location->address)];
}

void model_store(uint64_t address, unsigned size, uint64_t value, enum order order) {
    if (!run.active) {
        memory_set(address, size, value);
        return;
    }
    run_may_stop(address);
    struct location *location = location_at(address, size);
    shadow_access(address, size, ATOMIC_ACCESS | WRITE_ACCESS);
    attempt(location);
    struct store *place = choose_place(request_for(location, STORE, order));
    struct store *store = store_insert(location, place, truncated(value, size));
    struct event *event = event_log(STORE, address, size, order);
    event->value = store->value;
    publish(location, store, NULL, event);
}

static uint64_t updated(enum update update, uint64_t old, uint64_t operand) {
    switch (update) {
    case ADD: return old + operand;
    case SUB: return old - operand;
    case AND: return old & operand;
    case OR: return old | operand;
    case XOR: return old ^ operand;
    case NAND: return ~(old & operand);
    default: return operand;
    }
}

/* The second half of a read-modify-write that read `source`. */
static void replace(struct location *location, struct store *source, uint64_t value, struct event *event) {
    event->value = value;
    event->old = source->value;
    note_source(event, source);
    acquire(location, source, (enum order)event->order);
    source->taken = true;
    publish(location, store_insert(location, source, value), source, event);
}

uint64_t model_update(uint64_t address, unsigned size, enum update update, uint64_t operand, enum order order) {
    if (!run.active) {
        uint64_t old = memory_get(address, size);
        memory_set(address, size, updated(update, old, operand));
        return old;
    }
    run_may_stop(address);
    struct location *location = location_at(address, size);
    shadow_access(address, size, ATOMIC_ACCESS | WRITE_ACCESS);
    attempt(location);
    struct store *source = read_from(request_for(location, RMW, order)).store;
    struct event *event = event_log(RMW, address, size, order);
    replace(location, source, truncated(updated(update, source->value, operand), size), event);
    return source->value;
}

static bool exchange_in_memory(uint64_t address, unsigned size, uint64_t *expected, uint64_t value) {
    uint64_t old = memory_get(address, size), wanted = *expected;
    *expected = old;
    if (old == wanted) memory_set(address, size, value);
    return old == wanted;
}

/* `wanted` tells kind and weakness; a LOCK or ONCE waits until it succeeds, or until it need not. */
bool model_compare_exchange(struct request wanted, uint64_t *expected, uint64_t value, unsigned size,
                            const enum order orders[2], uint64_t address) {
    if (!run.active) return exchange_in_memory(address, size, expected, value);
    run_may_stop(address);
    struct location *location = location_at(address, size);
    shadow_access(address, size, ATOMIC_ACCESS | READ_ACCESS);
    attempt(location);
    wanted.location = location;
    wanted.expected = truncated(*expected, size);
    wanted.lower = view_get(&self()->current, location->index);
    wanted.in_sc_order = orders[0] == SEQ_CST || orders[1] == SEQ_CST;
    struct candidate chosen = read_from(wanted);
    bool done = chosen.store->value == wanted.expected && !chosen.spurious;
    *expected = chosen.store->value;
    if (done) shadow_access(address, size, ATOMIC_ACCESS | WRITE_ACCESS);
    struct event *event = event_log(wanted.kind, address, size, orders[done ? 0 : 1]);
    if (done) {
        replace(location, chosen.store, truncated(value, size), event);
    } else {
        event->old = event->value = chosen.store->value;
        event->failed = true;
        event->spurious = chosen.spurious;
        note_source(event, chosen.store);
        acquire(location, chosen.store, orders[1]);
        sc_note(location, chosen.store->label, chosen.store->label + 1, orders[1]);
    }
    return done;
}

void model_fence(enum order order) {
    if (!run.active || order == RELAXED) return;
    if (order == SEQ_CST) run_may_stop(0);
    struct thread *thread = self();
    event_log(FENCE, 0, 0, order);
    if (order != RELEASE) {
        view_join(&thread->current, view_freeze(&thread->pending));
        clock_join(&thread->happened, &thread->acquirable);
        view_clear(&thread->pending);
    }
    if (order >= RELEASE) {
        thread->release_view = view_freeze(&thread->current);
        thread->released = thread->happened;
    }
    if (order == SEQ_CST) sc_fence(thread->release_view);
    thread->happened.at[run.current]++;
}

/* ---- What the thread library needs */

void model_lock(uint64_t address) {
    uint64_t unlocked = 0;
    const enum order orders[2] = {ACQUIRE, RELAXED};
    model_compare_exchange((struct request){.kind = LOCK}, &unlocked, 1, 4, orders, address);
}

bool model_once_begin(uint64_t address) {
    uint64_t untouched = 0;
    const enum order orders[2] = {ACQUIRE, ACQUIRE};
    return model_compare_exchange((struct request){.kind = ONCE}, &untouched, 1, 4, orders, address);
}

/* Reads until it reads something else. */
void model_wait_change(uint64_t address, uint64_t value) {
    struct thread *thread = self();
    shadow_access(address, 4, ATOMIC_ACCESS | READ_ACCESS);
    thread->spun_on = location_at(address, 4);
    thread->spun_value = value;
    model_load(address, 4, RELAXED);
}
