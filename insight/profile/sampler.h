/* sampler.h - which allocations are sampled.
 *
 * Each byte that a thread asks for is chosen with the same small probability, and an object is a sample if one of its
 * bytes is chosen. So the distances between chosen bytes are exponential, with the mean `rate`. A thread draws the next
 * distance and counts down. An object of s bytes is a sample with probability 1 - exp(-s / rate), whatever was before.
 * The tool that writes the file divides by this. Nothing needs to be kept over a pause, for the same reason: a thread
 * looks at control.on only when its distance has ended. */
#ifndef JW_PROFILE_SAMPLER_H
#define JW_PROFILE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler {
    int64_t left;    /* bytes that are still no sample; below 0: a call goes the slow way, as a thread's first one */
    uint64_t random; /* state of the generator */
    uint32_t process;
    bool started, busy;
};
extern _Thread_local struct sampler sampler;

/* Counts a call's bytes. False: the object is to be given to sampler_reached. */
static inline bool sampler_passes(size_t size) {
    sampler.left -= (int64_t)size; /* may wrap (-fwrapv); no allocator has an object of such a size */
    return __builtin_expect(sampler.left >= 0, 1);
}

/* Makes a sample of an allocation whose distance has ended. NULL: the call has failed. */
void sampler_reached(const void *object, size_t size);

/* sampler_forget comes before the free, and does not count it. Then comes sampler_freed, or sampler_keep if the object
 * lives on. */
uint32_t sampler_forget(const void *object);
void sampler_freed(uint32_t row);
void sampler_keep(const void *object, uint32_t row);

#endif
