/* huge_lookup - a huge object is freed and a root takes its slot of the window. Meanwhile another thread looks up its
 * own object there and a foreign address.
 *
 * bound     2 threads: 1 free, 1 new root; 2 lookups; the window has room for 3 mappings
 * property  a foreign address is never taken for a live object of the wrong kind; the new root's records are its own
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/huge.h"
#include "verify/clients/ranges.h"

static uint64_t *huge, *second;

static void *freeing(void *unused) {
    (void)unused;
    huge_free(huge);
    return NULL;
}

static void *making(void *unused) {
    (void)unused;
    size_t size = huge_usable_size(huge);
    assert(size == 0 || size == ROOT_SIZE);
    granule_id root = root_create(FOR_SMALL_SLABS);
    if (root == 0) return NULL;
    own(root);
    leaf_set(root, leaf_large(0));
    assert(huge_usable_size(granule_address(root)) == 0 && large_usable_size(granule_address(root)) == ROOT_SIZE);
    assert(huge_usable_size(second) == 2 * ROOT_SIZE);
    leaf_set(root, leaf_held());
    range_place(root, UNMAPPED);
    return NULL;
}

int main(void) {
    begin();
    huge = huge_allocate(ROOT_SIZE, 1, NULL);
    second = huge_allocate(2 * ROOT_SIZE, 1, NULL);
    assert(huge && second && huge_usable_size(huge) == ROOT_SIZE);
    huge[0] = 1;
    pthread_t a = start(freeing, NULL), b = start(making, NULL);
    finish(a);
    finish(b);
    assert(root_count() == 0 && model_reserved_roots() == 2);
    huge_free(second);
    assert(claimed_slots() == 0 && model_reserved_roots() == 0);
    return 0;
}
