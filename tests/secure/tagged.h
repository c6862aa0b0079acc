/* tagged.h - what the files of the test of libjwmalloc-tags share. */
#ifndef JW_TESTS_TAGGED_H
#define JW_TESTS_TAGGED_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

extern bool tags_wanted; /* the processor has tags, and they are on */

int jw_set_memory_tags(int level); /* core/host_controls.h */

static inline unsigned tag_of(const volatile void *object) {
    return (unsigned)((uintptr_t)object >> 56 & 15);
}

/* The address without its tag. */
uintptr_t place_of(const volatile void *object);

/* Each wrong call must end the process with its line. */
void see_misuses(void);

#endif
