/* sc.c - sequential consistency: RC11's psc, a partial order of SC fences and SC accesses that must have no cycle.
 *
 * psc leads from fence F to fence G when F happens before G, or when something after F (by happens-before) comes
 * before something before G (by coherence: eco). Labels tell: per location, the lowest position of what came after F
 * against the newest store that G's thread knew. A position is the label of a store, or for a read the one behind the
 * store that it read, so that the edge is there if the position is at most the label.
 *
 * No total order is chosen. It would add executions without adding outcomes, and one that has to agree with the order
 * of execution would lose outcomes: relaxed accesses of a third thread may lead from F to G without happens-before.
 *
 * An access that would close a cycle is not offered as a choice. The newest store never closes one.
 *
 * An SC access is a point that knows and precedes only itself, at its location. Where SC and weaker accesses mix, that
 * is a little stronger than RC11, which does not let a mere read of a store order what follows.
 */
#include "engine.h"

enum { POINTS_OF_ORDER = 64 };

static struct point {
    const struct snapshot *known;  /* by a fence */
    struct view lowest;            /* complements of positions: the highest is the lowest */
    const struct location *access; /* NULL: a fence */
    uint64_t label;                /* of the access */
    uint64_t after;                /* the points that it leads to, as bits; closed under this relation */
    uint32_t clock;
    unsigned thread;
} points[POINTS_OF_ORDER];
static unsigned count;

void sc_reset(void) {
    count = 0;
}

static bool happened(const struct point *point, const struct thread *thread) {
    return thread->happened.at[point->thread] >= point->clock;
}

static uint64_t label_known(const struct point *point, const struct location *location) {
    if (!point->access) return snapshot_get(point->known, location->index);
    return point->access == location ? point->label : 0;
}

/* Those that an event of the thread comes after, as bits. */
static uint64_t points_before(const struct thread *thread, bool with_accesses) {
    uint64_t before = 0;
    for (unsigned i = 0; i < count; i++)
        if (happened(&points[i], thread) && (with_accesses || !points[i].access)) before |= (uint64_t)1 << i;
    return before;
}

/* Those that know of a store at this position or a newer one. */
static uint64_t points_behind(const struct location *location, uint64_t position) {
    uint64_t behind = 0;
    for (unsigned i = 0; i < count; i++)
        if (label_known(&points[i], location) >= position) behind |= (uint64_t)1 << i;
    return behind;
}

/* Those with something at a position up to the label. */
static uint64_t points_ahead(const struct location *location, uint64_t label) {
    uint64_t ahead = 0;
    for (unsigned i = 0; i < count; i++)
        if (~view_get(&points[i].lowest, location->index) <= label) ahead |= (uint64_t)1 << i;
    return ahead;
}

static uint64_t closed(uint64_t set) {
    uint64_t result = set;
    for (; set; set &= set - 1) result |= points[__builtin_ctzll(set)].after;
    return result;
}

/* May the thread's request read this store, or put one behind it in modification order? */
bool sc_allows(const struct thread *thread, const struct store *store) {
    const struct request *request = &thread->request;
    if (!count) return true;
    uint64_t before = points_before(thread, request->in_sc_order);
    if (request->in_sc_order) before |= points_ahead(request->location, store->label + (request->kind != LOAD));
    return !(closed(points_behind(request->location, store->label + 1)) & before);
}

static void lead(uint64_t from, uint64_t to) {
    to = closed(to);
    for (unsigned i = 0; to && i < count; i++)
        if (from >> i & 1 || points[i].after & from) points[i].after |= to;
}

static void point_add(const struct point *point, uint64_t before) {
    if (count == POINTS_OF_ORDER) stop_unable("more than %d SC operations", POINTS_OF_ORDER);
    points[count] = *point;
    points[count].clock = self()->happened.at[run.current];
    points[count].thread = run.current;
    lead(before | points_before(self(), true), (uint64_t)1 << count++);
}

/* `known`: the view of the running thread's fence. */
void sc_fence(const struct snapshot *known) {
    uint64_t before = 0;
    for (unsigned i = 0; i < count; i++)
        if (view_crosses(&points[i].lowest, known)) before |= (uint64_t)1 << i;
    point_add(&(struct point){.known = known}, before);
}

/* The running thread accessed the location at this position. `label`: of the store that it read or made. */
void sc_note(const struct location *location, uint64_t label, uint64_t position, enum order order) {
    if (order == SEQ_CST) {
        struct point access = {.access = location, .label = label};
        view_raise(&access.lowest, location->index, ~position);
        point_add(&access, points_ahead(location, label));
        lead((uint64_t)1 << (count - 1), points_behind(location, position));
    }
    uint64_t before = count ? points_before(self(), false) : 0;
    if (!before) return;
    for (unsigned i = 0; i < count; i++)
        if (before >> i & 1) view_raise(&points[i].lowest, location->index, ~position);
    lead(before, points_behind(location, position));
}
