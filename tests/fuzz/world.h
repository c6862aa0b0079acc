/* world.h - what stands below the allocator: the real kernel, or (JW_FUZZ_SIM) the simulated one, which can refuse.
 *
 * The simulated world begins anew with each input: the allocator's own data as well, so a finding needs no history. */
#ifndef JW_TESTS_FUZZ_WORLD_H
#define JW_TESTS_FUZZ_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef JW_FUZZ_SIM
#define JW_FUZZ_SIM 0
#endif

/* What must be had for sure: so much alive, sizes and alignments up to this; unless a call was refused. */
#if JW_FUZZ_SIM
#define WORLD_LIVE ((size_t)8 << 20)
#define WORLD_SURE ((size_t)1 << 20)
#else
#define WORLD_LIVE ((size_t)64 << 20)
#define WORLD_SURE ((size_t)16 << 20)
#endif

/* `kind` chooses the options. Where `refuses`, the start itself meets refusals. */
void world_begin(uint8_t kind, bool refuses);

/* How many system calls have been refused to this input. */
uint64_t world_refused(void);

/* So much is reserved that no size can be had for sure. */
bool world_is_crowded(void);

/* The next `successes` calls of some kinds succeed, later ones are refused until world_relieve. */
void world_refuse(unsigned kinds, uint8_t successes);
void world_relieve(void);

/* Time passes; the reclamation thread, if it was asked for, runs until it ends. */
void world_wait(uint32_t milliseconds);

/* The calling thread ends now. */
void world_thread_ends(void);

/* All objects are freed, all other threads ended: whether rounds leave nothing behind: three, where
 * nothing was refused. */
bool world_lost_nothing(void);

#endif
