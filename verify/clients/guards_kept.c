/* guards_kept - a thread makes the reserve of mappings of the hardened build while the OS refuses another's guard.
 *
 * bound     2 threads: 1 guard that makes the reserve; 1 refusal
 * defines   -DJW_SECURE=1 -DMODEL_PAGES=32768
 * property  after a refusal no mapping is in reserve, and none was unmapped twice
 */
#include "hardened/guard.h"
#include "verify/clients/ranges.h"

static void *guarding(void *unused) {
    (void)unused;
    guard_begin();
    return NULL;
}

static void *refused(void *unused) {
    (void)unused;
    guard_refused();
    return NULL;
}

int main(void) {
    begin();
    model_counts_pages = true;
    for (unsigned i = 0; i < GUARDS_BEFORE_KEPT; i++) guard_begin();
    size_t before = model_mapped_pages();
    pthread_t one = start(guarding, NULL), other = start(refused, NULL);
    finish(one);
    finish(other);
    assert(model_mapped_pages() == before);
    return 0;
}
