/* explore.c - every execution once: a depth-first walk over vectors of choices, each run from the start.
 *
 * The walk of one process starts below a fixed prefix ("tree_fixed" choices), so that parts of the tree can be given to
 * other processes. A pass is the whole tree with one table of possible writes; passes repeat until the table holds.
 * With a bound on postponements, the tree is cut; deepening raises the bound until nothing is cut.
 *
 * Before that, a random walk finds shallow bugs at once and fills the table.
 */
#include "engine.h"

#include <stdio.h>
#include <string.h>

struct choice choices[CHOICES];
unsigned choice_count, choice_position;
unsigned tree_fixed;

static uint64_t random_state; /* 0: not walking at random */

static unsigned draw(unsigned options) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 20) % options);
}

bool choice_is_random(void) {
    return random_state != 0;
}

bool choice_replays(void) {
    return settings.replay != NULL;
}

unsigned choice_recorded_options(void) {
    if (choice_position >= choice_count) stop_unable("the replay ends before the failure: is this another program?");
    return choices[choice_position].options;
}

/* A run that repeats choices must come to the same ones. */
static void compare(const struct choice *before, unsigned options, enum operation operation, uint64_t address) {
    if (before->options == options && before->operation == operation && before->thread == run.current &&
        before->address == address)
        return;
    if (choice_replays())
        stop_unable("choice %u differs from the recorded one: is this another program?", choice_position);
    fail("nondeterministic", address, 0, "choice %u was another one in the run before", choice_position);
}

unsigned choose(unsigned options, enum operation operation, uint64_t address) {
    if (choice_position == CHOICES || options > UINT16_MAX) stop_unable("more than %d choices in a run", CHOICES);
    struct choice *choice = &choices[choice_position];
    if (choice_position < choice_count) {
        compare(choice, options, operation, address);
    } else {
        *choice = (struct choice){.address = address,
                                  .pick = random_state ? (uint16_t)draw(options) : 0,
                                  .options = (uint16_t)options,
                                  .operation = (uint8_t)operation,
                                  .thread = (uint8_t)run.current};
        choice_count++;
    }
    choice_position++;
    return choice->pick;
}

/* The share of the tree that lies below this run's choices: what is known of the size of the whole. */
static double weight(void) {
    double share = 1;
    for (unsigned i = 0; i < choice_count; i++)
        if (choices[i].options > 1) share /= choices[i].options;
    return share;
}

static uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

/* The same for equal graphs, whatever the order of execution: events by their number in their thread. */
static uint64_t graph_hash(void) {
    static uint64_t identity[EVENTS + 1];
    uint32_t number[THREADS] = {0};
    uint64_t hash = 0;
    for (unsigned i = 0; i < run.events; i++)
        identity[i] = (uint64_t)events[i].thread << 32 | ++number[events[i].thread];
    for (unsigned i = 0; i < run.events; i++) {
        const struct event *event = &events[i];
        uint64_t from = event->from >= 0 ? identity[event->from] : 1;
        uint64_t own = mixed(mixed(mixed(identity[i], event->operation), event->sequence != 0), from);
        hash += event->operation == CHOOSE ? mixed(own, event->value) : own;
    }
    for (unsigned i = 0; i < run.locations; i++) {
        uint64_t order = mixed(0, run.location[i].address);
        for (struct store *s = run.location[i].newest; s; s = s->older)
            order = mixed(order, s->event >= 0 ? identity[s->event] : s->thread);
        hash += order;
    }
    return hash ? hash : 1;
}

static void count_run(bool complete) {
    struct counters *mine = &shared->counters[worker];
    atomic_fetch_add_explicit(complete ? &mine->complete : &mine->dead_ends, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&mine->events, run.events, memory_order_relaxed);
    if (settings.progress) mine->explored = mine->explored + weight();
    if (complete && settings.audit && !random_state && audit_duplicate(graph_hash())) shared->duplicates++;
}

static bool must_stop(void) {
    static unsigned calls;
    if (settings.max < UINT64_MAX && ++shared->runs >= settings.max) shared->stop = 1;
    if (++calls % 16 == 0) {
        if (settings.budget > 0 && now() > settings.budget) shared->stop = 1;
        if (settings.progress && settings.jobs == 1) report_progress(false);
        if (settings.jobs > 1) pass_donate();
    }
    return shared->stop || shared->restart || shared->failed;
}

/* To the next vector; false: there is none. */
static bool advance(void) {
    while (choice_count > tree_fixed && choices[choice_count - 1].pick + 1 >= choices[choice_count - 1].options)
        choice_count--;
    if (choice_count <= tree_fixed) return false;
    choices[choice_count - 1].pick++;
    return true;
}

void explore_tree(unsigned fixed) {
    tree_fixed = fixed;
    do {
        count_run(run_execution());
        if (must_stop()) return;
        if (choice_position < choice_count) fail("nondeterministic", 0, 0, "fewer choices than in the run before");
    } while (advance());
}

static uint64_t walk_at_random(void) {
    uint64_t stable = 0, run_number = 0;
    random_state = 88172645463325252u + settings.seed * 7919;
    for (; run_number < settings.random; run_number++) {
        choice_count = 0;
        count_run(run_execution());
        if (table_has_grown()) stable = run_number;
        if (settings.budget > 0 && now() > settings.budget * 0.2) break;
        if (settings.progress) report_progress(false);
        if (run_number > 200 && run_number > 8 * stable) break; /* nothing new for long */
    }
    random_state = 0;
    choice_count = 0;
    return run_number;
}

/* Passes until the table holds, or a stop. */
static unsigned run_passes(void) {
    unsigned passes = 0;
    do {
        table_begin_pass();
        shared_clear_counters();
        shared->outcomes = 0;
        shared->cut = 0;
        choice_count = 0;
        passes++;
        pass_run();
    } while (!shared->stop && table_contradicted());
    return passes;
}

static int verdict_incomplete(unsigned passes, int bound, const char *why) {
    return report_verdict(&(struct verdict){"incomplete", NULL, why, passes, bound});
}

int explore(void) {
    unsigned passes = 0;
    int bound_done = -1;
    bool bounded = settings.bound >= 0;
    if (settings.replay) {
        replay_load();
        run_execution();
        printf("The execution of %s ends without a failure.\n", settings.replay);
        return 0;
    }
    if (settings.random) walk_at_random();
    if (!settings.max) return verdict_incomplete(0, -1, "only the random walk was asked for");
    if (settings.deepen) settings.bound = 0;
    for (;; settings.bound++) {
        passes += run_passes();
        if (shared->duplicates) stop_unable("%u graphs were visited more than once", shared->duplicates);
        if (shared->stop) return verdict_incomplete(passes, bound_done, "stopped by the budget or the maximum");
        if (!shared->cut) return report_verdict(&(struct verdict){"complete", NULL, NULL, passes, settings.bound});
        bound_done = settings.bound;
        if (bounded) return verdict_incomplete(passes, bound_done, "complete up to the bound");
        if (settings.progress) printf("bound %d done\n", bound_done);
    }
}
