/* linux_tags.c - what only the hardened build needs from Linux: memory tags. */
#include "platform/linux_call.h"
#include "platform/platform.h"
#include "platform/tags.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifdef __aarch64__
bool tags_active;

static bool tags_ask(unsigned long faults) {
    enum { SET_CONTROL = 55, ADDRESSES = 1, ALL_BUT_0 = 0xfffe << 3 };
    return kernel_call(SYS_prctl, ARGUMENTS(SET_CONTROL, ADDRESSES | ALL_BUT_0 | faults)) == 0;
}

void tags_start(bool at_once, bool late) {
    enum { HAS_TAGS = 1 << 18, AT_ONCE = 2, LATE = 4 };
    if (!(getauxval(AT_HWCAP2) & HAS_TAGS)) return;
    /* kernels before 5.18 do not take both */
    tags_active = tags_ask((at_once ? AT_ONCE : 0) | (late ? LATE : 0)) || tags_ask(AT_ONCE);
}
#endif
