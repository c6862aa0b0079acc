/* linux_tags.c - what builds with memory tags ask of Linux. */
#include "platform/host.h"
#include "platform/linux_call.h"
#include "platform/platform.h"
#include "platform/tags.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifdef __aarch64__
enum { SET_CONTROL = 55, GET_CONTROL = 56, AT_ONCE = 2, LATE = 4 };

bool tags_active;
_Atomic(bool) tags_given = true;

static bool tags_ask(unsigned long faults) {
    enum { ADDRESSES = 1, ALL_BUT_0 = 0xfffe << 3 };
    return kernel_call(SYS_prctl, ARGUMENTS(SET_CONTROL, ADDRESSES | ALL_BUT_0 | faults)) == 0;
}

void tags_start(bool at_once, bool late) {
    enum { HAS_TAGS = 1 << 18 };
    if (!(getauxval(AT_HWCAP2) & HAS_TAGS) || !tags_are_given()) return;
    long now = kernel_call(SYS_prctl, ARGUMENTS(GET_CONTROL));
    if (JW_HOSTED && now > 0 && now & (AT_ONCE | LATE)) at_once = now & AT_ONCE, late = now & LATE; /* the host's */
    /* kernels before 5.18 do not take both */
    tags_active = tags_ask((at_once ? AT_ONCE : 0) | (late ? LATE : 0)) || tags_ask(AT_ONCE);
}

bool tags_switch(bool at_once, bool late) {
    if (!tags_ask((at_once ? AT_ONCE : 0) | (late ? LATE : 0))) return false;
    tags_give(at_once || late);
    return true;
}

void tags_give(bool given) {
    atomic_store_explicit(&tags_given, given, memory_order_relaxed);
}
#endif
