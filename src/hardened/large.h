/* large.h - in the hardened build: the guard behind each object of the backend and each huge one, and the quarantine of
 * their addresses.
 *
 *   in use    | object | slack | trailer | guard: without access |
 *   waiting   | without access and without memory                |   of it only the addresses are left
 *   kept      | zero                   | guard: without access   |   of a small one (LARGE_OPEN) the pages stay, with
 *                                                                    access: the next object has no page faults, and
 *                                                                    malloc verifies that it is zero
 *
 * An object waits in a ring of the heap whose thread has freed it. Only that thread uses the rings. In the page map
 * its range is held, and a huge object is gone: so a second free of it is reported as on the plain build.
 */
#ifndef JW_LARGE_H
#define JW_LARGE_H

#include "config/policy.h"
#include "core/allocator.h"

struct large_ring {
    uint32_t first, count;
    size_t bytes, most; /* addresses of all */
    struct waiting_large {
        char *start;
        size_t size; /* with its guard */
        bool huge;
        bool guarded;   /* has a guard, which is counted; a range's must be opened */
        bool closed;    /* without access */
        bool untouched; /* emptied, and without access since */
    } waiting[LARGE_WAITING];
};

struct large_rings {
    struct large_ring emptied, kept;
};

/* `most`: bytes of the quarantine. */
void large_rings_begin(struct large_rings *rings, size_t most);

/* Reads the process's limits, once: a sandbox may kill for the call later. */
void large_start(void);

/* Makes the guard behind a new object, or an object whose slot is new. True: there is a guard now, and it is
 * counted. */
bool large_guard(char *object, size_t slot);

/* Allocates an object whose range has waited with its guard, in a slot for `size` bytes. It is zero. NULL: no such
 * range waits. */
char *large_again(size_t size);

/* Takes a closed object from the program: its contents are gone at once. `rings` may be NULL: no quarantine. */
void large_push(struct large_rings *rings, char *object, bool guarded);

/* Gives all objects of the rings to the allocator. False: some stay, because the OS refuses to take them. */
bool large_rings_drain(struct large_rings *rings);

#endif
