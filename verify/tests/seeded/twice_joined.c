/* expect: misuse
 * A thread is joined twice.
 */
#include "verify/clients/client.h"

static void *nothing(void *unused) {
    return unused;
}

int main(void) {
    pthread_t a = start(nothing, NULL);
    finish(a);
#ifndef CORRECTED
    finish(a);
#endif
    return 0;
}
