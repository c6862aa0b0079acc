/* secret.c - draws the secrets of the process (secret.h). */
#include "hardened/secret.h"

#include "platform/platform.h"
#include "sync/free_link.h"

struct secrets secrets;

void secrets_start(void) {
    secrets.trailer[0] = platform_random();
    secrets.trailer[1] = platform_random();
    secrets.mask = (uint32_t)platform_random() | 0x01010101;
    link_secret = platform_random();
    secrets.fill = (uint8_t)(0x80 | (platform_random() & 0x7e)); /* neither 0 nor 255 */
}
