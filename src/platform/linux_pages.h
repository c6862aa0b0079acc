/* linux_pages.h - the kernel's calls on pages: maps them at any place, unmaps, discards, changes and moves them.
 *
 * The lower half of the memory of platform.h; this file's source also has platform_unmap, _discard, _protect, _resize,
 * _is_mapped and _huge_pages. deferred_unmap.h stands on them. What maps at a chosen place, and so unmaps what it got
 * elsewhere, stands above both: linux_memory.c.
 *
 *   next_end   a guess where the next aligned mapping can end; 0: none yet. Any value is correct. The kernel places
 *              mappings downwards, so the place below the last one is most often free. An aligned address then costs
 *              one call instead of three.
 */
#ifndef JW_LINUX_PAGES_H
#define JW_LINUX_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The protection of pages that the program may write; with tags where they are on. */
long pages_writable(void);

/* Maps pages. `wish`: if something is mapped there, the kernel maps elsewhere. 0: the kernel refuses. */
uintptr_t pages_map(uintptr_t wish, size_t size, long protection);

/* Moves `size` bytes of pages over a mapping of `room` bytes, and makes them one mapping of `room`. False: the kernel
 * refuses; `to` may be unmapped then. */
bool pages_move(uintptr_t from, uintptr_t to, size_t size, size_t room);

/* The reclamation thread, whose first frame is at this address, may be the only one that unmaps and discards
 * (platform_spare_callers). */
void pages_note_thread(uintptr_t frame);

/* Reads and writes the guess. */
uintptr_t pages_next_end(void);
void pages_set_next_end(uintptr_t end);

/* Unmapping what ends between these two leaves the guess as it is. */
void pages_exclude(uintptr_t start, uintptr_t end);

/* Learns on a page of ours whether platform_discard does what it says. False: it does nothing, and fails from now on.
 */
bool pages_look_at_discard(volatile uint32_t *page);

#endif
