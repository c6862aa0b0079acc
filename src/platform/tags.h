/* tags.h - AArch64's memory tags (MTE), in the builds that have them (platform/features.h, TAGGED). Each 16 bytes of
 * memory have a tag of four bits, and so does a pointer, in its bits 56 to 59. An access through a pointer with another
 * tag ends in a fault.
 *
 * Tag 0 is the allocator's: free memory, memory that is never tagged, and the allocator's pointers have it. Without
 * tags in the processor or the kernel, `tags_active` stays false and nothing else here is called.
 */
#ifndef JW_TAGS_H
#define JW_TAGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/features.h"

enum { TAG_BYTES = 16, TAG_SHIFT = 56, PROTECTION_TAGS = 0x20 /* PROT_MTE */ };

#if TAGGED

extern bool tags_active HIDDEN;
extern _Atomic(bool) tags_given HIDDEN; /* relaxed: new objects get tags; true until tags_give */

/* Asks the kernel for tags, and for a fault where they differ: at once, or late, at the thread's next entry to the
 * kernel. Both: as the processor prefers. Called before the first mapping; threads that start later inherit it. */
void tags_start(bool at_once, bool late);

/* The same later, for the calling thread; none of both: no faults, and new objects get no tags. False: the kernel
 * refuses, and nothing has changed. */
bool tags_switch(bool at_once, bool late);

/* Whether new objects get tags. Not before tags_start: then nothing is asked of the kernel. */
void tags_give(bool given);

static inline bool tags_are_given(void) {
    return atomic_load_explicit(&tags_given, memory_order_relaxed);
}

static inline unsigned tag_of_pointer(const void *pointer) {
    return (unsigned)((uintptr_t)pointer >> TAG_SHIFT & 15);
}

static inline void *with_tag(const void *pointer, unsigned tag) {
    return (void *)(((uintptr_t)pointer & ~((uintptr_t)15 << TAG_SHIFT)) | (uintptr_t)tag << TAG_SHIFT);
}

/* Tag of the 16 bytes at the address, which is ours and accessible. */
static inline unsigned tag_of_memory(const void *address) {
    uintptr_t word = (uintptr_t)address;
    __asm__ volatile(".arch armv8.5-a+memtag\n\tldg %0, [%0]" : "+r"(word));
    return (unsigned)(word >> TAG_SHIFT & 15);
}

/* Sets the tag of all 16-byte units that [address, address + size) touches. */
static inline void tag_memory(const void *address, size_t size, unsigned tag) {
    uintptr_t at = (uintptr_t)with_tag(address, tag), end = at + size;
    for (; at < end; at += TAG_BYTES) __asm__ volatile(".arch armv8.5-a+memtag\n\tstg %0, [%0]" ::"r"(at) : "memory");
}

/* The pointer with the tag of the memory there, which is ours and accessible. */
static ALWAYS_INLINE void *tagged_as_memory(const void *pointer) {
    uintptr_t word = (uintptr_t)pointer;
    __asm__ volatile(".arch armv8.5-a+memtag\n\tldg %0, [%1]" : "+r"(word) : "r"(pointer));
    return (void *)word;
}

/* The pointer with a random tag of those whose bits in `excluded` are 0. The processor draws it. Tag 0 where all are 1,
 * and in a thread for which the kernel was not asked for tags. */
static ALWAYS_INLINE void *tagged_at_random(const void *pointer, uint64_t excluded) {
    void *tagged;
    __asm__ volatile(".arch armv8.5-a+memtag\n\tirg %0, %1, %2" : "=r"(tagged) : "r"(pointer), "r"(excluded));
    return tagged;
}

/* Gives `size` bytes, a multiple of TAG_BYTES, from the pointer on its tag. The loop is assembler: compilers copy the
 * address in each turn. */
static ALWAYS_INLINE void tag_units(void *tagged, size_t size) {
    uintptr_t at = (uintptr_t)tagged, end = at + size;
    if (size & TAG_BYTES)
        __asm__ volatile(".arch armv8.5-a+memtag\n\tstg %1, [%0], #16" : "+r"(at) : "r"(tagged) : "memory");
    if (at == end) return;
    __asm__ volatile(".arch armv8.5-a+memtag\n1:\tst2g %1, [%0], #32\n\tcmp %0, %2\n\tb.ne 1b"
                     : "+&r"(at)
                     : "r"(tagged), "r"(end)
                     : "memory", "cc");
}

/* The calling thread ignores tags from now on. */
static inline void tags_ignore(void) {
    if (tags_active) __asm__ volatile(".arch armv8.5-a+memtag\n\tmsr tco, #1" ::: "memory");
}

/* The same until tags_heed, to which the result goes: for a look at free objects that another thread may take
 * meanwhile. */
static ALWAYS_INLINE uint64_t tags_pause(void) {
    uint64_t before = 0;
    if (tags_active) __asm__ volatile(".arch armv8.5-a+memtag\n\tmrs %0, tco\n\tmsr tco, #1" : "=r"(before)::"memory");
    return before;
}

static ALWAYS_INLINE void tags_heed(uint64_t before) {
    if (tags_active) __asm__ volatile(".arch armv8.5-a+memtag\n\tmsr tco, %0" ::"r"(before) : "memory");
}

#else

enum { tags_active = 0 };
static inline void tags_start(bool at_once, bool late) {
    (void)at_once;
    (void)late;
}
static inline bool tags_switch(bool at_once, bool late) {
    (void)at_once;
    (void)late;
    return false;
}
static inline void tags_give(bool given) {
    (void)given;
}
static inline bool tags_are_given(void) {
    return false;
}
static inline void tags_ignore(void) {
}
static inline uint64_t tags_pause(void) {
    return 0;
}
static inline void tags_heed(uint64_t before) {
    (void)before;
}
static inline unsigned tag_of_pointer(const void *pointer) {
    (void)pointer;
    return 0;
}
static inline void *with_tag(const void *pointer, unsigned tag) {
    (void)tag;
    return (void *)(uintptr_t)pointer;
}
static inline unsigned tag_of_memory(const void *address) {
    (void)address;
    return 0;
}
static inline void tag_memory(const void *address, size_t size, unsigned tag) {
    (void)address;
    (void)size;
    (void)tag;
}

#endif

#endif
