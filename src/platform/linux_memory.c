/* linux_memory.c - address space from the Linux kernel: aligned, at chosen places, named, moved. */
#include "base/align.h"
#include "platform/deferred_unmap.h"
#include "platform/features.h"
#include "platform/linux_call.h"
#include "platform/linux_pages.h"
#include "platform/linux_start.h"
#include "platform/platform.h"
#include "platform/platform_policy.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* No mapping of ours is below: near address 0 are the kernel's forbidden pages and fixed-address programs. Not policy:
 * where the system has put them. */
#define LOWEST_ADDRESS ((uintptr_t)16 << 20)

static uintptr_t map_writable(uintptr_t address, size_t size) {
    return pages_map(address, size, pages_writable());
}

static uintptr_t map_at_guess(size_t size, size_t alignment) {
    uintptr_t end = pages_next_end();
    if (end < LOWEST_ADDRESS || size > end - LOWEST_ADDRESS) return 0;
    uintptr_t wanted = align_down(end - size, alignment);
    if (wanted < LOWEST_ADDRESS) return 0;
    uintptr_t got = map_writable(wanted, size);
    if (got == 0 || (got & (alignment - 1)) == 0) return got;
    unmap_or_defer((void *)got, size);
    return 0;
}

/* Where the kernel refuses a new mapping, because there are too many, a deferred one may do. */
static uintptr_t map_and_trim(size_t size, size_t alignment) {
    size_t whole = size + alignment - platform_page_size();
    if (whole < size) return 0;
    uintptr_t got = map_writable(0, whole);
    if (got == 0) got = (uintptr_t)take_deferred(&whole);
    if (got == 0) return 0;
    uintptr_t address = align_up(got, alignment);
    unmap_or_defer((void *)got, address - got);
    unmap_or_defer((void *)(address + size), got + whole - address - size);
    return address;
}

/* Kernels from 5.17 on, and Android's, store a mapping's name. After a refusal the call is not made again. Nor is it
 * made after the start: a filter that the program installs may kill for it. Where libc itself names mappings, filters
 * let the call pass. */
static _Atomic(uint32_t) names_ended; /* a boolean */

static void name_mapping(uintptr_t address, size_t size, const char *name) {
    if (NEAR_LOAD(names_ended)) return;
    long result = kernel_call(
        SYS_prctl, ARGUMENTS(PR_SET_VMA, PR_SET_VMA_ANON_NAME, ARGUMENT(address), ARGUMENT(size), ARGUMENT(name)));
    if (result == -EINVAL) atomic_store_explicit(&names_ended, true, memory_order_relaxed);
}

void platform_end_names(void) {
    atomic_store_explicit(&names_ended, true, memory_order_relaxed);
}

void memory_names_end(void) {
#if !ON_BIONIC
    platform_end_names();
#endif
}

void *platform_reserve(size_t size, size_t alignment, const char *name) {
    uintptr_t address = 0, page = platform_page_size();
    if (alignment > page) address = map_at_guess(size, alignment);
    else alignment = page;
    if (address == 0) address = map_and_trim(size, alignment);
    if (address == 0) return NULL;
    if (alignment > page) pages_set_next_end(address);
    name_mapping(address, size, name);
    return (void *)address;
}

void *platform_reserve_readable(size_t size, const char *name) {
    uintptr_t address = pages_map(0, size, PROT_READ);
    if (address != 0) name_mapping(address, size, name);
    return (void *)address;
}

/* A thread sanitizer knows only addresses near the top. */
extern void __tsan_init(void) __attribute__((weak));

/* Below the region: mappings of platform_reserve_apart, one behind the other. */
static _Atomic(uintptr_t) apart_next;
static uintptr_t apart_end;

/* A random part of the second to fifth eighth of the addresses. Programs lie below that or from two thirds on; the
 * kernel's own mappings lie at the top. */
uintptr_t platform_region(size_t size, size_t alignment) {
    const uint64_t near = (uint64_t)512 << 30;
    size_t page = platform_page_size();
    uint64_t top = map_writable(0, page), from = top / 8, most = top / 2;
    if (top == 0) return 0;
    unmap_or_defer((void *)(uintptr_t)top, page);
    if (__tsan_init) {
        most = top / 4 < near + size ? top / 4 : near + size;
        from = top - most;
    }
    if (top / 3 < size || most <= size) return 0;
    uintptr_t region = align_down((uintptr_t)(from + platform_random() % (most - size)), alignment);
    uint64_t room = APART_ROOM, below = from / 4;
    if (from > 4 * room && !__tsan_init) { /* each try for a region chooses the place anew */
        apart_end = align_down((uintptr_t)(region - platform_random() % below), page);
        atomic_store_explicit(&apart_next, apart_end - room, memory_order_relaxed);
    }
    pages_exclude(region, region + size); /* no mapping is put there but by platform_reserve_at */
    return region;
}

void *platform_reserve_apart(size_t size, const char *name) {
    size_t page = platform_page_size();
    uintptr_t at = 0;
    if (apart_end) at = atomic_fetch_add_explicit(&apart_next, size + page, memory_order_relaxed) + page;
    if (at != 0 && at < apart_end && size < apart_end - at &&
        platform_reserve_at((void *)at, size, true, name) == RESERVED)
        return (void *)at;
    return platform_reserve(size, page, name);
}

enum platform_reserved platform_reserve_at(void *address, size_t size, bool writes, const char *name) {
    uintptr_t wanted = (uintptr_t)address, got = pages_map(wanted, size, writes ? pages_writable() : PROT_READ);
    if (got == 0) return RESERVE_REFUSED;
    if (got == wanted) {
        name_mapping(wanted, size, name);
        return RESERVED;
    }
    if (writes) unmap_or_defer((void *)got, size);
    else unmap_readable((void *)got, size);
    return RESERVE_TAKEN;
}

/* Whether moves succeed. A mark that is written to the target before a move tells afterwards whether the target is
 * still ours. The mark costs a page, or a huge page, so it is left out from the first success to the first refusal. */
enum { UNTRIED, MOVES, MOVES_FAIL };
static _Atomic(uint32_t) move_state;

static bool word_holds(uintptr_t address, uint32_t mark) {
    long no_time[2] = {0}; /* for an address that is not mapped or not readable the call returns an error */
    for (int tries = 0; tries < HOLDS_TRIES; tries++)
        if (kernel_call(SYS_futex, ARGUMENTS(ARGUMENT(address), FUTEX_WAIT_PRIVATE, ARGUMENT(mark),
                                             ARGUMENT(no_time))) == -ETIMEDOUT)
            return true;
    return false;
}

enum platform_moved platform_move(void *from, void *to, size_t size, size_t room) {
    uint32_t before = atomic_load_explicit(&move_state, memory_order_relaxed);
    uint32_t mark = (uint32_t)((uintptr_t)to >> 12) * 0x9e3779b9u | 1;
    if (before != MOVES) *(volatile uint32_t *)to = mark;
    if (pages_move((uintptr_t)from, (uintptr_t)to, size, room)) {
        if (before == UNTRIED) atomic_store_explicit(&move_state, MOVES, memory_order_relaxed);
        return MOVED;
    }
    atomic_store_explicit(&move_state, MOVES_FAIL, memory_order_relaxed);
    /* The kernel may unmap the target before it checks the source, which is several mappings if the program has used
     * mprotect in it. So map the target again. If the target is still mapped, this call does not change it. */
    uintptr_t got = map_writable((uintptr_t)to, room);
    if (got == (uintptr_t)to) return MOVE_REFUSED;
    if (got != 0) unmap_or_defer((void *)got, room);
    return before != MOVES && word_holds((uintptr_t)to, mark) ? MOVE_REFUSED : MOVE_LOST_TARGET;
}
