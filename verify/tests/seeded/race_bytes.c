/* expect: race
 * Neighbours in one word: a wider access reaches into what another thread writes.
 */
#include "verify/clients/client.h"

static union {
    uint8_t byte[8];
    uint16_t half[4];
} word;

static void *narrow(void *unused) {
    word.byte[3] = 1;
    return unused;
}

static void *wide(void *unused) {
#ifdef CORRECTED
    word.half[2] = 1;
#else
    word.half[1] = 1;
#endif
    return unused;
}

int main(void) {
    pthread_t a = start(narrow, NULL), b = start(wide, NULL);
    finish(a);
    finish(b);
    assert(word.byte[3] <= 1);
    return 0;
}
