/* give_run.c - a run of granules whose pages go back together. */
#include "backend/give_run.h"

#include "backend/give_back.h"
#include "backend/root.h"
#include "config/policy.h"

void give_run_end(struct give_run *run) {
    if (run->count == 0) return;
    bool kept = root_use(run->first) == FOR_RESERVE;
    bool given = !kept && give_back_pages(granule_address(run->first), (size_t)run->count << JW_GRANULE_SHIFT);
    for (; run->count > 0; run->count--) run->end(run->first++, given);
    if (!given && !kept) run->refused = true;
}

void give_run_add(struct give_run *run, granule_id granule) {
    bool before = granule + 1 == run->first, behind = granule == run->first + run->count;
    if (!(before || behind) || root_of(granule) != root_of(run->first) || run->count == GIVE_MOST_GRANULES)
        give_run_end(run);
    if (run->count == 0 || before) run->first = granule;
    run->count++;
}
