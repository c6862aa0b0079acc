/* linux_tags.c - what only the hardened build needs from Linux: memory tags. */
#include "platform/linux_call.h"
#include "platform/platform.h"
#include "platform/tags.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifdef __aarch64__
bool tags_active;

void tags_start(void) {
    enum { HAS_TAGS = 1 << 18, SET_CONTROL = 55, ADDRESSES = 1, FAULT_AT_ONCE = 2, ALL_BUT_0 = 0xfffe << 3 };
    if (!(getauxval(AT_HWCAP2) & HAS_TAGS)) return;
    tags_active = kernel_call(SYS_prctl, ARGUMENTS(SET_CONTROL, ADDRESSES | FAULT_AT_ONCE | ALL_BUT_0)) == 0;
}
#endif
