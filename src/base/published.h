/* published.h - marks the variables that another process reads to see the state of this one (core/watch.h).
 *
 * Each mark is an entry of the section jw_published: where the variable is, how large, and what it is called. The
 * entries cost no instruction. The reading program is built from the same sources, and so has the same entries for its
 * own variables: it copies each variable to its own of that name. */
#ifndef JW_PUBLISHED_H
#define JW_PUBLISHED_H

#include <stddef.h>

#include "base/compiler.h"

struct published {
    void *variable;
    size_t size;
    char name[16];
};

#ifdef GENMC /* knows no sections, and no linker */
#define PUBLISHED(variable) struct published
#define PUBLISHED_BEGIN ((struct published *)NULL)
#define PUBLISHED_END PUBLISHED_BEGIN
#else
/* The linker's names for the section's ends. */
extern struct published __start_jw_published[] HIDDEN, __stop_jw_published[] HIDDEN;
#define PUBLISHED_BEGIN __start_jw_published
#define PUBLISHED_END __stop_jw_published

/* The alignment keeps compilers from a larger one, which would leave gaps between entries. */
#define PUBLISHED(variable)                                                                                            \
    static struct published published_##variable                                                                       \
        __attribute__((section("jw_published"), used, aligned(sizeof(void *)))) = {(void *)&variable, sizeof variable, \
                                                                                   #variable}
#endif

#endif
