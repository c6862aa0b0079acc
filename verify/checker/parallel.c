/* parallel.c - several processes explore one tree. What they share lies in one mapping.
 *
 * Each takes a job, a prefix of choices, and explores what lies below. When others are idle, it gives away its largest
 * part: all alternatives, not yet tried, of its first choice that has any.
 */
#include "engine.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS = 32, AUDIT_SLOTS = 1 << 24 };

struct job {
    unsigned length; /* all but the last choice are fixed */
    struct choice choices[CHOICES];
};

static struct queue {
    _Atomic uint32_t idle, count;
    struct job jobs[JOBS];
} *queue;

struct shared *shared;
unsigned worker;
static _Atomic uint64_t *audit_table;

void shared_start(void) {
    shared = memory_map(0, sizeof *shared, true);
    queue = memory_map(0, sizeof *queue, true);
    audit_table = memory_map(0, AUDIT_SLOTS * sizeof *audit_table, true);
}

static void pause_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

void shared_lock(void) {
    while (atomic_exchange(&shared->lock, 1)) pause_briefly();
}

void shared_unlock(void) {
    atomic_store(&shared->lock, 0);
}

struct counters shared_counters(void) {
    struct counters sum = {0};
    for (unsigned i = 0; i < WORKERS; i++) {
        sum.complete += shared->counters[i].complete;
        sum.dead_ends += shared->counters[i].dead_ends;
        sum.events += shared->counters[i].events;
        sum.explored = sum.explored + shared->counters[i].explored;
    }
    return sum;
}

/* Audited graphs, too, count per pass. */
void shared_clear_counters(void) {
    memset(shared->counters, 0, sizeof shared->counters);
    shared->duplicates = 0;
    if (settings.audit) madvise((void *)audit_table, AUDIT_SLOTS * sizeof *audit_table, MADV_REMOVE);
}

bool audit_duplicate(uint64_t hash) {
    for (unsigned tries = 0; tries < AUDIT_SLOTS / 2; tries++) {
        _Atomic uint64_t *slot = &audit_table[(hash + tries) % AUDIT_SLOTS];
        uint64_t there = *slot;
        if (!there && atomic_compare_exchange_strong(slot, &there, hash)) return false;
        if (there == hash) return true;
    }
    stop_unable("too many executions for an audit");
}

void pass_donate(void) {
    if (!queue->idle || queue->count >= JOBS) return;
    unsigned at = tree_fixed;
    while (at < choice_count && choices[at].pick + 1 >= choices[at].options) at++;
    if (at + 1 >= choice_count) return;
    shared_lock();
    if (queue->count < JOBS) {
        struct job *job = &queue->jobs[queue->count++];
        job->length = at + 1;
        memcpy(job->choices, choices, job->length * sizeof choices[0]);
        job->choices[at].pick++;
        tree_fixed = at + 1;
    }
    shared_unlock();
}

static bool take_job(void) {
    bool taken = false;
    shared_lock();
    if (queue->count) {
        const struct job *job = &queue->jobs[--queue->count];
        choice_count = job->length;
        memcpy(choices, job->choices, job->length * sizeof choices[0]);
        taken = true;
    }
    shared_unlock();
    return taken;
}

/* Ends when all processes are idle and no job is left. */
static void work(void) {
    for (;;) {
        while (take_job()) {
            explore_tree(choice_count ? choice_count - 1 : 0);
            if (shared->stop || shared->restart || shared->failed) return;
        }
        queue->idle++;
        while (!queue->count) {
            if (queue->idle == settings.jobs || shared->stop || shared->restart || shared->failed) return;
            pause_briefly();
        }
        queue->idle--;
    }
}

static void end_children(const pid_t *children) {
    for (unsigned i = 0; i < settings.jobs; i++)
        if (children[i] > 0) kill(children[i], SIGKILL);
}

/* A worker that found something has said so; its status is the program's. */
static void wait_for(pid_t *children) {
    unsigned left = settings.jobs;
    while (left) {
        int status;
        pid_t ended = waitpid(-1, &status, settings.progress ? WNOHANG : 0);
        if (ended <= 0) {
            pause_briefly();
            report_progress(false);
            continue;
        }
        left--;
        for (unsigned i = 0; i < settings.jobs; i++)
            if (children[i] == ended) children[i] = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 3) continue; /* found something, but another was first */
        end_children(children);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
    }
}

void pass_run(void) {
    if (settings.jobs == 1) {
        explore_tree(0);
        return;
    }
    pid_t children[WORKERS];
    queue->idle = 0;
    queue->count = 1;
    queue->jobs[0].length = 0;
    for (unsigned i = 0; i < settings.jobs; i++) {
        children[i] = fork();
        if (children[i] < 0) stop_unable("fork failed");
        if (children[i]) continue;
        worker = i;
        work();
        _exit(0);
    }
    wait_for(children);
}
