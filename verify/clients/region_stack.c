/* region_stack - two threads pop two ranges each and push them in another order than they lay in. So a thread may meet
 * a stack whose first range is the same again, but not the one below it. Of the hardened build.
 *
 * bound     2 threads: 2 pops each and as many pushes as pops that gave a range; 2 ranges
 * property  no range has two holders, and none is lost
 */
#include "hardened/region_stack.h"
#include "verify/clients/ranges.h"

static struct versioned_stack regions;
static granule_id ranges[2];
static uint64_t used[2]; /* plain: a race, if a range has two holders */

static void use(granule_id range) {
    assert(leaf_same(leaf_get(range), leaf_held()));
    used[range == ranges[1]]++;
}

static void *taking_two(void *unused) {
    (void)unused;
    granule_id first = region_stack_pop(&regions), second = region_stack_pop(&regions);
    if (first) use(first);
    if (first) region_stack_push(&regions, first);
    if (second) use(second);
    if (second) region_stack_push(&regions, second);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned i = 0; i < 2; i++) region_stack_push(&regions, ranges[i] = fetch(1));
    pthread_t other = start(taking_two, NULL);
    taking_two(NULL);
    finish(other);
    granule_id first = region_stack_pop(&regions), second = region_stack_pop(&regions);
    assert(first + second == ranges[0] + ranges[1] && first != second);
    assert(region_stack_pop(&regions) == 0 && versioned_stack_is_empty(&regions));
    place(first, MAPPED);
    place(second, MAPPED);
    end();
    return 0;
}
