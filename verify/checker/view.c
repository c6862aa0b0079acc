/* view.c - views with shared chunks: taking a snapshot copies a few pointers, and a join touches only what differs. */
#include "engine.h"

#include <string.h>

uint64_t view_get(const struct view *view, unsigned location) {
    unsigned i = location / CHUNK;
    return i < view->used && view->chunk[i] ? view->chunk[i]->label[location % CHUNK] : 0;
}

uint64_t snapshot_get(const struct snapshot *snapshot, unsigned location) {
    unsigned i = location / CHUNK;
    return snapshot && i < snapshot->used && snapshot->chunk[i] ? snapshot->chunk[i]->label[location % CHUNK] : 0;
}

void view_clear(struct view *view) {
    view->owned = 0;
    view->used = 0;
}

static void extend(struct view *view, unsigned used) {
    while (view->used < used) view->chunk[view->used++] = NULL;
}

static struct chunk *own(struct view *view, unsigned i) {
    if (view->owned >> i & 1) return view->chunk[i];
    struct chunk *copy = run_allocate(sizeof *copy);
    if (view->chunk[i]) *copy = *view->chunk[i];
    else memset(copy, 0, sizeof *copy);
    view->owned |= (uint64_t)1 << i;
    return view->chunk[i] = copy;
}

void view_raise(struct view *view, unsigned location, uint64_t label) {
    if (view_get(view, location) >= label) return;
    extend(view, location / CHUNK + 1);
    own(view, location / CHUNK)->label[location % CHUNK] = label;
}

static bool covers(const struct chunk *chunk, const struct chunk *other) {
    for (unsigned i = 0; i < CHUNK; i++)
        if (chunk->label[i] < other->label[i]) return false;
    return true;
}

void view_join(struct view *view, const struct snapshot *other) {
    if (!other) return;
    extend(view, other->used);
    for (unsigned i = 0; i < other->used; i++) {
        struct chunk *mine = view->chunk[i], *theirs = other->chunk[i];
        if (mine == theirs || !theirs || (mine && covers(mine, theirs))) continue;
        if (!mine || covers(theirs, mine)) {
            view->chunk[i] = theirs;
            view->owned &= ~((uint64_t)1 << i);
            continue;
        }
        mine = own(view, i);
        for (unsigned k = 0; k < CHUNK; k++)
            if (mine->label[k] < theirs->label[k]) mine->label[k] = theirs->label[k];
    }
}

const struct snapshot *view_freeze(struct view *view) {
    if (!view->used) return NULL;
    struct snapshot *frozen = run_allocate(sizeof *frozen + view->used * sizeof frozen->chunk[0]);
    frozen->used = view->used;
    memcpy(frozen->chunk, view->chunk, view->used * sizeof frozen->chunk[0]);
    view->owned = 0;
    return frozen;
}

const struct snapshot *snapshot_join(const struct snapshot *one, const struct snapshot *other) {
    if (!one || one == other) return other;
    if (!other) return one;
    static struct view both;
    view_clear(&both);
    view_join(&both, one);
    view_join(&both, other);
    return view_freeze(&both);
}

/* Is there a location whose label reaches the position? */
bool view_crosses(const struct view *positions, const struct snapshot *labels) {
    for (unsigned i = 0; labels && i < positions->used && i < labels->used; i++)
        for (unsigned k = 0; positions->chunk[i] && labels->chunk[i] && k < CHUNK; k++)
            if (~positions->chunk[i]->label[k] <= labels->chunk[i]->label[k]) return true;
    return false;
}
