/* root_left - a root goes back to the OS, and another thread gets a mapping of its own at the same address.
 *
 * bound     2 threads: 1 root given back, 1 mapping; no other address is free
 * property  the mapping does not pass for memory of the root
 */
#include "verify/clients/ranges.h"

static void *freeing(void *root) {
    leaf_set((granule_id)(uintptr_t)root, leaf_held());
    range_place((granule_id)(uintptr_t)root, UNMAPPED);
    return NULL;
}

static void *mapping(void *unused) {
    (void)unused;
    char *address = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
    if (!address) return NULL;
    assert(!page_map_owns(address));
    bool released = platform_unmap(address, ROOT_SIZE);
    assert(released);
    return NULL;
}

int main(void) {
    char *others[8];
    unsigned count = 0;
    begin();
    granule_id root = root_create(FOR_OTHER_RANGES);
    assert(root);
    while ((others[count] = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client"))) count++;
    pthread_t a = start(freeing, (void *)(uintptr_t)root), b = start(mapping, NULL);
    finish(a);
    finish(b);
    while (count-- > 0) {
        bool released = platform_unmap(others[count], ROOT_SIZE);
        assert(released);
    }
    end();
    return 0;
}
