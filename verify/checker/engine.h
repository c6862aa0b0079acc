/* engine.h - what the parts of the checker share. docs/checker.md explains the algorithm and the memory model.
 *
 *   explore.c   which executions, in which order          schedule.c   one execution: fibers, waiting, dead ends
 *   table.c     may a read wait?                          model.c      atomic operations, fences
 *   parallel.c  several processes, one tree               view.c       which thread has seen which stores
 *                                                         sc.c         the order of SC fences
 *   shadow.c    plain memory: races, bounds, lifetimes    memory.c     the client's memory, put back before each run
 *   abi.c, libc.c, threads.c   what client code calls     fiber.c      stacks, registers, thread-local storage
 *   report.c, settings.c       what the user sees      coverage.c   which blocks of the client ran
 */
#ifndef JW_VERIFY_ENGINE_H
#define JW_VERIFY_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Capacities. Reaching one ends the program with status 2, never with a wrong verdict. */
enum {
    THREADS = 8, /* including the main one */
    LOCATIONS = 1024,
    STORES = 1 << 15,
    THREAD_EVENTS = 20000, /* more, or this many equal loads in a row, is taken for an endless loop */
    EQUAL_LOADS = 300,
    EVENTS = 1 << 17,
    CHOICES = 1 << 16,
    CANDIDATES = 1024,
    KEYS = 4096,  /* different atomic addresses over all executions */
    READS = 8192, /* of threads, by place in the program */
    ROWS = READS + THREADS,
    NUMBERED = 1 << 15,
    CALLERS = 64,
    WORKERS = 16,
    OUTCOME_VALUES = 16,
    OUTCOMES = 1 << 14,
    CHUNK = 16,
    CHUNKS = LOCATIONS / CHUNK,
};

/* As the compilers pass them to the __tsan functions. */
enum order { RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

enum operation { LOAD, STORE, RMW, CAS, LOCK, ONCE, FENCE, CREATE, JOIN, CHOOSE, STOP };

/* ---- Views: per location, the label of the newest store known. Labels grow along modification order. */

struct chunk {
    uint64_t label[CHUNK];
};

/* Immutable; shares chunks with others. NULL: knows nothing. */
struct snapshot {
    unsigned used;
    struct chunk *chunk[];
};

/* A bit of `owned` says that the chunk is this view's alone and may be written in place. */
struct view {
    uint64_t owned;
    unsigned used;
    struct chunk *chunk[CHUNKS];
};

uint64_t view_get(const struct view *view, unsigned location);
void view_raise(struct view *view, unsigned location, uint64_t label);
void view_join(struct view *view, const struct snapshot *other);
void view_clear(struct view *view);
const struct snapshot *view_freeze(struct view *view);
uint64_t snapshot_get(const struct snapshot *snapshot, unsigned location);
bool view_crosses(const struct view *positions, const struct snapshot *labels);
const struct snapshot *snapshot_join(const struct snapshot *one, const struct snapshot *other);

/* ---- Happens-before: per thread, how many of its steps are known. */

struct clock {
    uint32_t at[THREADS];
};

static inline void clock_join(struct clock *clock, const struct clock *other) {
    for (unsigned i = 0; i < THREADS; i++)
        if (clock->at[i] < other->at[i]) clock->at[i] = other->at[i];
}

/* ---- Stores and locations. */

struct store {
    uint64_t value, label;
    struct store *newer, *older; /* in modification order */
    const struct snapshot *view; /* what reading it with acquire tells */
    struct clock happened;       /* likewise */
    struct clock depends;
    uint32_t sequence; /* in order of execution */
    uint32_t clock;    /* the writer's own step */
    int32_t event;     /* -1: initial */
    uint8_t thread;
    bool taken; /* a read-modify-write has read it: no second one may */
    bool uninitialised;
};

struct past_read {
    struct past_read *older;
    uint32_t event, row;
};

struct location {
    uint64_t address;
    uint64_t top_label;
    struct store *newest; /* NULL: memory holds the value; no thread knows of earlier stores any more */
    uint32_t last_sequence;
    uint32_t key;   /* of the address, for the table of possible writes */
    uint16_t index; /* in views, from 1 */
    uint16_t next;  /* in the same eight bytes; 0: none */
    uint8_t size;
    struct past_read *reads[THREADS]; /* newest first */
};

/* ---- Threads. */

enum thread_state { ABSENT, READY, WAITING, JOINING, BLOCKED, DONE, STOPPED };

/* A read that chooses a store, or waits for one. */
struct request {
    struct location *location;
    uint64_t expected;
    uint64_t lower; /* label of the oldest store that coherence allows */
    uint32_t since; /* waiting for a store later than this */
    enum operation kind;
    uint32_t row; /* of the table: where in the program */
    bool weak, in_sc_order;
};

struct thread {
    enum thread_state state;
    uint32_t events;
    uint32_t spurious;                           /* weak compare-exchanges that failed for no reason */
    struct clock happened, acquirable, released; /* now; after an acquire fence; at the last release fence */
    struct view current, pending;                /* now; what an acquire fence would add */
    const struct snapshot *release_view;         /* at the last release fence */
    struct clock depends;                        /* per thread, the events that this one's state follows from */
    struct request request;
    const struct location *last_read, *spun_on; /* spun_on: yielded after reading this value there */
    uint64_t last_value, spun_value;
    unsigned joins;
    bool joined, may_stop;
    uint32_t repeats;          /* loads in a row that told it nothing new */
    uintptr_t pc;              /* where it waits */
    uint64_t callers[CALLERS]; /* a hash of each, and of those below */
    unsigned depth;
    void *stack_pointer;
    uint64_t tls;
    void *(*body)(void *);
    void *argument, *result;
};

struct event {
    uint64_t address, value, old;
    uint32_t pc;
    uint32_t sequence; /* of the store that it made; 0: none */
    int32_t from;      /* event of the store that it read; -1: initial */
    uint32_t from_sequence;
    uint8_t thread, operation, order, size;
    bool early;            /* placed before an existing store */
    bool stale;            /* read a store that was not the newest */
    bool failed, spurious; /* compare-exchange */
};

/* ---- One execution. */

struct run {
    struct thread thread[THREADS];
    unsigned threads, current;
    struct location location[LOCATIONS];
    unsigned locations;
    unsigned stores, sequence;
    unsigned events;
    unsigned postponements;
    bool active;  /* client code is running under the engine */
    bool vain;    /* a dead end */
    bool stopped; /* a thread has stopped for good */
    uint64_t steps, number;
};

extern struct run run;
extern struct store stores[];
extern struct event events[];
extern uintptr_t client_pc; /* where the client called the engine from */

static inline struct thread *self(void) {
    return &run.thread[run.current];
}

static inline bool has_ended(const struct thread *thread) {
    return thread->state == DONE || thread->state == STOPPED;
}

void *run_allocate(size_t size); /* until the end of the run */
void run_release(void);
bool run_execution(void); /* true: complete, false: a dead end */
void run_end_if_vain(void);
void run_wait(void);                 /* gives the processor to the scheduler */
_Noreturn void run_block(void);      /* this thread goes no further; the execution is a dead end */
void run_may_stop(uint64_t address); /* before what other threads can notice: here this thread may stop for good */
struct event *event_log(enum operation operation, uint64_t address, unsigned size, enum order order);

bool may_postpone(void);
bool admissible(const struct thread *thread, const struct store *store);
bool may_fail_spuriously(const struct thread *thread, const struct store *store);

/* ---- model.c: values are zero-extended. Outside a run they act on memory. */

enum update { EXCHANGE, ADD, SUB, AND, OR, XOR, NAND };

void model_reset(void);
uint64_t model_load(uint64_t address, unsigned size, enum order order);
void model_store(uint64_t address, unsigned size, uint64_t value, enum order order);
uint64_t model_update(uint64_t address, unsigned size, enum update update, uint64_t operand, enum order order);
bool model_compare_exchange(struct request wanted, uint64_t *expected, uint64_t value, unsigned size,
                            const enum order orders[2], uint64_t address);
void model_fence(enum order order);
void model_lock(uint64_t address);
bool model_once_begin(uint64_t address); /* true: the caller is the one */
void model_wait_change(uint64_t address, uint64_t value);
void location_forget(unsigned first, uint64_t address, size_t size);

/* ---- sc.c */

void sc_reset(void);
bool sc_allows(const struct thread *thread, const struct store *store);
void sc_note(const struct location *location, uint64_t label, uint64_t position, enum order order);
void sc_fence(const struct snapshot *known);

/* ---- shadow.c */

enum { READ_ACCESS = 0, WRITE_ACCESS = 1, ATOMIC_ACCESS = 2, COPY_ACCESS = 4 };

void shadow_start(void);
void shadow_reset(void);
void shadow_access(uint64_t address, size_t size, unsigned kind);
uint16_t *shadow_locations(uint64_t address);
bool shadow_unwritten(uint64_t address, size_t size);
void shadow_copy(uint64_t to, uint64_t from, size_t size);
enum mark { MARK_ALLOCATED, MARK_FREED, MARK_FORBIDDEN, MARK_FRESH, MARK_UNWRITTEN };
void shadow_mark(uint64_t address, size_t size, enum mark mark);

/* ---- memory.c: the arena holds stacks, thread-local storage and heaps of the client's threads, at a fixed address. */

enum { STACK_SIZE = 256 << 10, TLS_SIZE = 64 << 10, HEAP_SIZE = 2 << 20 };
#define ARENA 0x200000000000u
#define ARENA_STACKS ARENA
#define ARENA_TLS (ARENA_STACKS + (uint64_t)THREADS * STACK_SIZE)
#define ARENA_HEAPS (ARENA_TLS + (uint64_t)THREADS * TLS_SIZE)
#define ARENA_END (ARENA_HEAPS + (uint64_t)THREADS * HEAP_SIZE)

extern uint64_t data_begin, data_end, image_begin;
extern uint8_t *data_dirty; /* per page of the data */
enum { DATA_PAGE_SHIFT = 10 };

void memory_start(char *const bounds[3]); /* image, data, end */
void memory_restore(void);
void *memory_map(uint64_t at, size_t size, bool shared);

/* ---- coverage.c */

void coverage_start(void);
void coverage_write(void);

/* ---- fiber.c */

void fiber_start(void);
void fiber_create(unsigned thread, void *(*body)(void *), void *argument);
void fiber_enter(unsigned thread);
void fiber_leave(void);
void fiber_use_main_tls(void);

/* ---- libc.c, threads.c */

void heap_reset(void);
void heap_check_leaks(void);
void threads_reset(void);
void thread_run_destructors(void);
void outcome_reset(void);
void outcome_commit(void);
const char *heap_describe(uint64_t address, uint64_t *offset, uint32_t *allocated_at);

/* ---- table.c */

uint32_t key_of(uint64_t address);
void table_begin_pass(void);
bool table_has_grown(void); /* since it was asked last */
uint32_t table_read(uint64_t place);
void table_learn_read(struct location *location, uint32_t row, uint32_t event);
void table_learn_attempt(const struct location *location);
void table_refuse(unsigned thread, uint32_t key);
bool table_may_write(unsigned thread, uint32_t key);
bool table_may_race(uint32_t row, uint32_t key);
bool table_contradicted(void);

/* ---- explore.c */

struct choice {
    uint64_t address;
    uint16_t pick, options;
    uint8_t operation, thread;
};

extern struct choice choices[CHOICES];
extern unsigned choice_count, choice_position;

unsigned choose(unsigned options, enum operation operation, uint64_t address);
bool choice_replays(void);
bool choice_is_random(void);
unsigned choice_recorded_options(void); /* of the next choice, while replaying */
int explore(void);
void explore_tree(unsigned fixed); /* all continuations of the first `fixed` choices */
extern unsigned tree_fixed;

/* ---- parallel.c: everything the processes share. */

struct counters {
    _Atomic uint64_t complete, dead_ends, events;
    _Atomic double explored; /* share of the tree */
};

struct outcome {
    uint64_t count;
    unsigned length;
    int values[OUTCOME_VALUES];
};

struct numbering {
    _Atomic uint64_t thing[NUMBERED];
    _Atomic uint32_t number[NUMBERED], count; /* number + 1; 0: not known yet */
};

struct shared {
    _Atomic uint32_t grown, restart, stop, failed, cut, duplicates;
    _Atomic uint64_t runs;
    struct counters counters[WORKERS];
    struct numbering keys, reads;
    uint32_t expected_latest[KEYS][THREADS];
    _Atomic uint32_t learned_latest[KEYS][THREADS], refused_latest[KEYS][THREADS];
    uint64_t expected_races[ROWS][KEYS / 64];
    _Atomic uint64_t learned_races[ROWS][KEYS / 64], refused_races[ROWS][KEYS / 64];
    _Atomic uint32_t lock;
    unsigned outcomes;
    struct outcome outcome[OUTCOMES];
};

extern struct shared *shared;
extern unsigned worker;

void shared_start(void);
void shared_lock(void);
void shared_unlock(void);
struct counters shared_counters(void);
void shared_clear_counters(void);
void pass_run(void);    /* the whole tree, on settings.jobs processes */
void pass_donate(void); /* gives part of this process's tree to an idle one */
bool audit_duplicate(uint64_t hash);

/* ---- settings.c, report.c */

struct settings {
    const char *program, *replay, *save, *json, *coverage;
    unsigned jobs;
    double budget; /* seconds; 0: none */
    int bound;     /* postponements in a run; -1: any */
    bool deepen, outcomes, progress, audit, stop_in_debugger, failing_as_success;
    uint64_t random, seed, max;
    unsigned spurious;
    int (*client)(void);
};

extern struct settings settings;
void settings_read(int argc, char **argv);

struct verdict {
    const char *verdict, *kind, *message;
    unsigned passes;
    int bound;
};

double now(void);
void report_start(void);
void report_progress(bool last);
int report_verdict(const struct verdict *verdict);
_Noreturn void fail(const char *kind, uint64_t address, uint32_t other_pc, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void stop_unable(const char *format, ...) __attribute__((format(printf, 1, 2)));
void replay_save(void);
void replay_load(void);
void json_write(const struct verdict *verdict);
void describe_places(unsigned count, const uint32_t *pcs, char (*out)[160]);
void describe_address(uint64_t address, char *out, size_t size);

#endif
