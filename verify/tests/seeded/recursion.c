/* expect: crash
 * A recursion that goes deeper than the stack.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { DEPTH = 10 };
#else
enum { DEPTH = 1 << 20 };
#endif

static volatile int depth = DEPTH;

static int descend(int level) {
    volatile char frame[64];
    frame[level % 64] = 1;
    return level < depth ? descend(level + 1) + frame[level % 64] : 0;
}

static void *user(void *unused) {
    assert(descend(0) == depth);
    return unused;
}

int main(void) {
    finish(start(user, NULL));
    return 0;
}
