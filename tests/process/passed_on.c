/* passed_on.c - memory goes from the thread that frees it to one that allocates it, by the allocator alone. Where the
 * library is built for ThreadSanitizer, as the program is, no race is to be reported.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "entry_points.h"

enum { THREADS = 4, SLOTS = 64, ROUNDS = 20000 };
static _Atomic(uintptr_t) slots[SLOTS];

static void *pass_on(void *unused) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t size = (size_t)16 << round % 11;
        char *object = malloc(size);
        CHECK(object != NULL);
        memset(object, 1, size);
        char *other = (char *)atomic_exchange_explicit(&slots[round % SLOTS], (uintptr_t)object, memory_order_acq_rel);
        if (other != NULL) other[0] = 2;
        free(other);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, pass_on, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (unsigned i = 0; i < SLOTS; i++) free((void *)slots[i]);
    return 0;
}
