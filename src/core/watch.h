/* watch.h - what a process with `watch:true` shares with those who watch it, and the times of its slow paths.
 *
 * A library of its own, libjwwatch.so (insight/watch/publish.c), is loaded then. It makes a page that other processes
 * of the user can read (docs/formats.md). The page says where the published variables are (base/published.h). A reader
 * copies them, and what they lead to, with process_vm_readv: no signal, no stop, no lock, and no cost here. Only slow
 * paths are timed for the reader alone.
 *
 *   watcher   NULL -> libjwwatch.so's functions   a constructor, before main. There is none in the hardened build
 *
 * Relaxed: the functions and their data are there before any thread of the program. Progress: wait-free. */
#ifndef JW_WATCH_H
#define JW_WATCH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/mitigations.h"
#include "base/near.h"

/* Slow paths whose time is counted. malloc: a refill of small objects, a mid object or a range that no cache of the
 * thread has. free: of what no cache has room for. */
enum slow_path { SLOW_SMALL, SLOW_MID, SLOW_LARGE, SLOW_FREE, SLOW_PATHS };

/* The function of a slow path. What it takes:
 *
 *   SLOW_SMALL   the heap, the class      SLOW_MID    the heap, the size
 *   SLOW_LARGE   NULL, the size           SLOW_FREE   the object, 0 */
typedef void *(*slow_call)(void *what, size_t number);

struct watcher {
    /* Calls the function, and counts how long it took. */
    void *(*call)(enum slow_path path, slow_call function, void *what, size_t number);
};

/* What libjwwatch.so's function jw_watch gets. */
struct watch_offer {
    char library[16];                         /* its version */
    uint32_t layout, entry;                   /* watch_layout(); bytes of an entry */
    const void *table, *end;                  /* of the published variables */
    _Atomic(const struct watcher *) *watcher; /* NULL: slow paths are not timed */
};

/* Differs where the tables of two builds have another shape. The variables' sizes are compared, too. */
uint32_t watch_layout(void);

/* Loads libjwwatch.so if the option asks for it. Called before main. Not where the core is in a C library. */
void watch_start(void);

extern _Atomic(const struct watcher *) watcher HIDDEN;

/* Calls the function of a slow path. */
static ALWAYS_INLINE void *watch_call(enum slow_path path, slow_call function, void *what, size_t number) {
    if (WITHOUT_WATCHER) return function(what, number);
    const struct watcher *now = NEAR_LOAD(watcher);
    return UNLIKELY(now != NULL) ? now->call(path, function, what, number) : function(what, number);
}

#endif
