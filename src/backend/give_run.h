/* give_run.h - gives the pages of single granules back, those of neighbours by one call of the OS.
 *
 * The caller has each granule, and adds one after the other. A granule beside the run makes the run longer. Any other
 * ends it, and begins the next. By one thread. Client pool_given_back; test pool_rounds_test.c.
 */
#ifndef JW_GIVE_RUN_H
#define JW_GIVE_RUN_H

#include <stdbool.h>

#include "backend/granule_id.h"

struct give_run {
    /* What becomes of each granule. `given`: its pages are gone; else the OS refuses */
    void (*end)(granule_id granule, bool given);
    granule_id first;
    uint32_t count;
    bool refused; /* the OS has refused a run */
};

/* Begins a run. Field by field: GenMC takes a copy as a whole for one access. */
static inline void give_run_begin(struct give_run *run, void (*end)(granule_id granule, bool given)) {
    run->end = end;
    run->first = 0;
    run->count = 0;
    run->refused = false;
}

/* Adds a granule. */
void give_run_add(struct give_run *run, granule_id granule);

/* Ends the run. Called after the last granule. */
void give_run_end(struct give_run *run);

#endif
