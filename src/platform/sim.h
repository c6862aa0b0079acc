/* sim.h - how the unit tests control the simulated platform. */
#ifndef JW_SIM_H
#define JW_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/platform.h"

/* Bytes of the arena. */
#ifndef JW_SIM_ARENA
#define JW_SIM_ARENA (64u << 20)
#endif

/* Bytes of the arena's own alignment: the largest that platform_reserve can give. */
#ifndef JW_SIM_ALIGNMENT
#define JW_SIM_ALIGNMENT (4u << 20)
#endif

/* Bytes of the smallest page that the simulation can be set to, and of its pages at first. */
#ifndef JW_SIM_PAGE
#define JW_SIM_PAGE 4096u
#endif

/* Back to the state at start: everything unmapped and zero, no failures, clock at 0. Called while no other thread uses
 * the platform. */
void sim_reset(void);

/* Lets `count` more refusable operations (enum sim_operation) succeed
 * and refuses every one after them, until the next call. SIM_NEVER: no refusals. */
#define SIM_NEVER (-1)
void sim_fail_after(int64_t count);

/* The operations that sim_fail_after counts and refuses; all at first. */
enum sim_operation {
    SIM_RESERVE = 1,
    SIM_UNMAP = 2,
    SIM_DISCARD = 4,
    SIM_RESIZE = 8,
    SIM_MOVE = 16,
    SIM_THREAD = 32,
    SIM_EXIT = 64,
    SIM_PROTECT = 128,
    SIM_CONFINE = 256,
    SIM_ANY = 511
};
void sim_fail_only(unsigned operations);

/* How many operations have been refused since the program's start. */
uint64_t sim_refused(void);

/* Sets the bytes of a page: a power of two, at least JW_SIM_PAGE. Called between sim_reset and the first use. */
void sim_set_page_size(size_t size);

void sim_set_random(uint64_t seed);
void sim_advance(uint32_t milliseconds);

/* Each operation takes so long on the exact clock (platform_microseconds); 0 at first. */
void sim_set_operation_time(uint32_t microseconds);

/* Bytes of the arena that are reserved now. */
size_t sim_reserved(void);

/* True when all of [address, address + size) lies in the arena and reads as zero. */
bool sim_is_zero(const void *address, size_t size);

/* The body that platform_thread_start was asked to run, once; NULL when there is none. The test runs it, or not. */
void (*sim_take_thread(void))(void);

/* Runs what platform_on_thread_exit was asked for, as if the calling thread ended now. */
void sim_thread_exit(void);

/* Sets whether the caller seems to be a child by vfork. */
void sim_borrow_memory(bool borrowed);

/* Runs the handlers around fork, as if a fork took place; `in_child` tells which side to be on. */
void sim_fork(bool in_child);

/* Sets the contents of every file; NULL: there are no files. */
void sim_set_file(const char *text);

/* What platform_group_memory says; no limit at first. */
extern struct group_memory sim_group;

/* Called instead of abort; may longjmp. NULL: the real abort. */
void sim_on_abort(void (*hook)(void));

/* What platform_write got last, cut to some hundred bytes. */
const char *sim_last_text(void);

#endif
