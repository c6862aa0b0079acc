/* root_admits - two threads need slabs of a root that had none, and both make its records writable.
 *
 * bound     2 threads: 1 look each; the root then goes back
 * property  the records' bytes are counted once, and are off the count when the root is gone
 */
#include "verify/clients/ranges.h"

static granule_id root;

static void *admitting(void *unused) {
    (void)unused;
    bool admitted = root_admits_slabs(root);
    assert(admitted);
    return NULL;
}

int main(void) {
    begin();
    root = root_create(FOR_OTHER_RANGES);
    assert(root);
    size_t without = other_bytes_in_use();
    pthread_t other = start(admitting, NULL);
    admitting(NULL);
    finish(other);
    assert(other_bytes_in_use() > without);
    bool gone = root_destroy(root, false);
    assert(gone && other_bytes_in_use() == 0);
    return 0;
}
