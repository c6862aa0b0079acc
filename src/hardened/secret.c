/* secret.c - draws the secrets of the process (secret.h). */
#include "hardened/secret.h"

#include "platform/platform.h"
#include "sync/free_link.h"

struct secrets secrets;

void secrets_start(void) {
    uint64_t key[2];
    for (unsigned i = 0; i < 2; i++) {
        key[i] = platform_random();
        secrets.place[i] = platform_random() | i;
    }
    sip_begin(&secrets.trailer, key);
    link_secret = platform_random();
}
