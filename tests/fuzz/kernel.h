/* kernel.h - what stands below the allocator: the real kernel, or (JW_FUZZ_SIM) the simulated one, which can refuse.
 *
 * The simulated kernel begins anew with each input: the allocator's own data as well, so a finding needs no history. */
#ifndef JW_TESTS_FUZZ_KERNEL_H
#define JW_TESTS_FUZZ_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef JW_FUZZ_SIM
#define JW_FUZZ_SIM 0
#endif

/* What must be had for sure: so much alive, sizes and alignments up to this; unless a call was refused. */
#if JW_FUZZ_SIM
#define KERNEL_LIVE ((size_t)8 << 20)
#define KERNEL_SURE ((size_t)1 << 20)
#else
#define KERNEL_LIVE ((size_t)64 << 20)
#define KERNEL_SURE ((size_t)16 << 20)
#endif

/* `kind` chooses the options. Where `refuses`, the start itself meets refusals. */
void kernel_begin(uint8_t kind, bool refuses);

/* How many system calls have been refused to this input. */
uint64_t kernel_refused(void);

/* So much is reserved that no size can be had for sure. */
bool kernel_is_crowded(void);

/* The next `successes` calls of some kinds succeed, later ones are refused until kernel_ends_refusals. */
void kernel_refuse(unsigned kinds, uint8_t successes);
void kernel_ends_refusals(void);

/* Time passes; the reclamation thread, if it was asked for, runs until it ends. */
void kernel_wait(uint32_t milliseconds);

/* The calling thread ends now. */
void kernel_thread_ends(void);

/* All objects are freed, all other threads ended: whether rounds leave nothing behind: three, where
 * nothing was refused. */
bool nothing_is_lost(void);

#endif
