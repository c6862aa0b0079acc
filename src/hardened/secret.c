/* secret.c - draws the secrets of the process (secret.h). */
#include "hardened/secret.h"

#include "platform/platform.h"
#include "sync/free_link.h"

struct secrets secrets;

void secrets_start(void) {
    for (unsigned i = 0; i < 2; i++) {
        secrets.trailer[i] = platform_random();
        secrets.place[i] = platform_random() | i;
    }
    link_secret = platform_random();
}
