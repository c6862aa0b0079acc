/* expect: wild-access
 * An index that leaves the thread's stack.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { INDEX = 3 };
#else
enum { INDEX = 1 << 28 };
#endif

static void *user(void *unused) {
    volatile char local[4], *volatile start_of = local;
    start_of[INDEX] = 1;
    return unused;
}

int main(void) {
    finish(start(user, NULL));
    return 0;
}
