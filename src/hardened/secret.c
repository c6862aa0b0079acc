/* secret.c - draws the secrets of the process (secret.h). */
#include "hardened/secret.h"

#include "config/options.h"
#include "core/tracking.h"
#include "platform/platform.h"
#include "platform/wide.h"
#include "sync/free_link.h"

struct secrets secrets;

/* The round keys come from the same secret: where there is AES, SipHash makes nothing else of it. */
static void aes_begin(const uint64_t key[2]) {
#if JW_AES
    for (unsigned i = 0; i <= AES_ROUNDS; i++)
        secrets.aes.round[i] = (aes_block){siphash(key, 2 * i, 7), siphash(key, 2 * i + 1, 7)};
    secrets.has_aes = aes_is_there();
#else
    (void)key;
#endif
}

void secrets_start(void) {
    uint64_t key[2];
    for (unsigned i = 0; i < 2; i++) key[i] = platform_random();
    secrets.place = platform_random() | 1;
    sip_begin(&secrets.sip, key);
    aes_begin(key);
    link_secret = platform_random();
    way_choose();
}

void way_choose(void) {
    bool usual = keyed_way() == USUAL_WAY && (!JW_WIDE || wide_is_there()) && option(&options.zero_on_free);
    relaxed_store(&secrets.usual, usual && !is_tracking());
}
