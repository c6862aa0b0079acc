#include "secure/secret.h"

#include "platform/platform.h"

struct secrets secrets;
_Thread_local uint64_t random_state __attribute__((tls_model("initial-exec")));

void secrets_start(void) {
    secrets.trailer[0] = platform_random();
    secrets.trailer[1] = platform_random();
    secrets.mask = (uint32_t)platform_random() | 0x01010101;
    secrets.link = platform_random();
    secrets.fill = (uint8_t)(0x80 | (platform_random() & 0x7e)); /* neither 0 nor 255 */
}

uint64_t random_seed(void) {
    return platform_random() | 1;
}
