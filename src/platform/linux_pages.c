/* linux_pages.c - pages from the Linux kernel. */
#define _GNU_SOURCE 1 /* MREMAP_FIXED */
#include "platform/linux_pages.h"

#include "base/align.h"
#include "platform/linux_call.h"
#include "platform/platform.h"
#include "platform/platform_policy.h"
#include "platform/tags.h"

#include <errno.h>
#include <sys/mman.h>

/* The kernel orders an unmapping before a later mapping of the same addresses. This word expresses that order in C11,
 * for thread sanitizers and model checkers. */
static _Atomic(uint32_t) unmappings;

static void before_unmapping(void) {
    /* [UM1] release: the last uses of the memory; pairs [UM2]; client unmap_map */
    atomic_fetch_add_explicit(&unmappings, 1, memory_order_release);
}

static void after_mapping(void) {
    /* [UM2] acquire: the last uses of the memory that was mapped here; pairs [UM1]; client unmap_map */
    atomic_fetch_add_explicit(&unmappings, 0, memory_order_acquire);
}

long pages_writable(void) {
    return PROT_READ | PROT_WRITE | (tags_active ? PROTECTION_TAGS : 0);
}

/* MAP_FIXED_NOREPLACE would avoid the second mapping. But Chromium's filter kills a process that uses a flag that the
 * filter does not know. */
uintptr_t pages_map(uintptr_t wish, size_t size, long protection) {
    long result = kernel_call(RAW_MMAP, ARGUMENTS(ARGUMENT(wish), ARGUMENT(size), protection,
                                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1));
    after_mapping();
    return kernel_failed(result) ? 0 : (uintptr_t)result;
}

static _Atomic(uintptr_t) next_end;
static uintptr_t excluded_start, excluded_end;

uintptr_t pages_next_end(void) {
    return NEAR_LOAD(next_end);
}

void pages_set_next_end(uintptr_t end) {
    atomic_store_explicit(&next_end, end, memory_order_relaxed);
}

void pages_exclude(uintptr_t start, uintptr_t end) {
    excluded_start = start;
    excluded_end = end;
}

/* The frame of the last reclamation thread's first function. No other thread's stack has frames near it. */
static _Atomic(uintptr_t) first_frame;

void pages_note_thread(uintptr_t frame) {
    atomic_store_explicit(&first_frame, frame, memory_order_relaxed);
}

static bool on_reclamation_thread(void) {
    uintptr_t first = NEAR_LOAD(first_frame);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here < first && first - here < STACK_SIZE;
}

static _Atomic(uint32_t) spares_callers; /* a boolean */
static _Atomic(int32_t) spare_lifts;     /* threads that have lifted it; below 0 after a fork in the midst of a lift */
static _Atomic(size_t) callers_calls;

void platform_spare_callers(enum platform_spare spare) {
    if (spare != SPARED) {
        atomic_fetch_add_explicit(&spare_lifts, spare == SPARE_LIFTED ? 1 : -1, memory_order_relaxed);
        return;
    }
    atomic_store_explicit(&spares_callers, true, memory_order_relaxed);
    atomic_store_explicit(&spare_lifts, 0, memory_order_relaxed);
}

uint64_t platform_callers_calls(void) {
    return NEAR_LOAD(callers_calls);
}

/* Makes a call of munmap or madvise, unless the caller is to be spared it. */
static long call_to_give_back(long number, void *address, size_t size, long advice) {
    if (!on_reclamation_thread()) {
        if (NEAR_LOAD(spares_callers) && NEAR_LOAD(spare_lifts) <= 0) return -EPERM;
        atomic_fetch_add_explicit(&callers_calls, 1, memory_order_relaxed);
    }
    return kernel_call(number, ARGUMENTS(ARGUMENT(address), ARGUMENT(size), advice));
}

bool platform_is_mapped(void *address, size_t size) {
    return kernel_call(SYS_madvise, ARGUMENTS(ARGUMENT(address), ARGUMENT(size), MADV_NORMAL)) != -ENOMEM;
}

bool platform_protect(void *address, size_t size, bool accessible) {
    long protection = accessible ? pages_writable() : PROT_NONE;
    return kernel_call(SYS_mprotect, ARGUMENTS(ARGUMENT(address), ARGUMENT(size), protection)) == 0;
}

wide_bool platform_unmap(void *address, size_t size) {
    before_unmapping();
    if (size != 0 && call_to_give_back(SYS_munmap, address, size, 0) != 0) return false;
    /* The next mapping may use the free place above: so the addresses in use stay close together. */
    uintptr_t end = (uintptr_t)address + size;
    bool excluded = end > excluded_start && end <= excluded_end;
    if (size >= WORTH_RETURNING && !excluded && end > pages_next_end()) pages_set_next_end(end);
    return true;
}

/* An emulator may answer 0 to madvise and do nothing (qemu-user before 7.1). Then memory is cleared by hand, as where
 * the kernel refuses. Written at the start only. */
static bool discard_is_vain;

bool pages_look_at_discard(volatile uint32_t *page) {
    *page = 1;
    long error = kernel_call(SYS_madvise, ARGUMENTS(ARGUMENT(page), platform_page_size(), MADV_DONTNEED));
    discard_is_vain = error == 0 && *page != 0;
    *page = 0;
    return !discard_is_vain;
}

wide_bool platform_discard(void *address, size_t size) {
    if (discard_is_vain) return false;
    uintptr_t page = platform_page_size();
    uintptr_t from = align_up((uintptr_t)address, page);
    uintptr_t to = align_down((uintptr_t)address + size, page);
    if (from >= to) return true;
    /* Not MADV_FREE: its pages would still count as ours until the kernel is short of memory. */
    return call_to_give_back(SYS_madvise, (void *)from, to - from, MADV_DONTNEED) == 0;
}

/* munmap takes the tail away where the caller may call it, else mremap does. With mremap, qemu-user 7.2 also closes the
 * memory behind the mapping, in 32-bit programs. */
bool platform_resize(void *address, size_t old_size, size_t new_size) {
    before_unmapping();
    if (new_size < old_size && call_to_give_back(SYS_munmap, (char *)address + new_size, old_size - new_size, 0) == 0)
        return true;
    return !kernel_failed(
        kernel_call(SYS_mremap, ARGUMENTS(ARGUMENT(address), ARGUMENT(old_size), ARGUMENT(new_size))));
}

/* The mapping grows as it moves. If it were moved to the start of the other one, these two would stay apart: mremap
 * refuses to make the object larger then, and each further move adds one more. */
bool pages_move(uintptr_t from, uintptr_t to, size_t size, size_t room) {
    before_unmapping();
    return !kernel_failed(kernel_call(SYS_mremap, ARGUMENTS(ARGUMENT(from), ARGUMENT(size), ARGUMENT(room),
                                                            MREMAP_MAYMOVE | MREMAP_FIXED, ARGUMENT(to))));
}

void platform_huge_pages(void *address, size_t size, bool wanted) {
    long advice = wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    call_to_give_back(SYS_madvise, address, size, advice);
}
