/* start.h - starts the allocator: reads the options and makes the tables, once, at the first call that needs them. */
#ifndef JW_START_H
#define JW_START_H

#include <stdbool.h>

#include "base/compiler.h"

/* The files that tell of the process's control group and of all groups. */
#define START_OWN_GROUP "/proc/self/cgroup"
#define START_GROUPS "/sys/fs/cgroup"

/* Reads the options and makes the tables, once. Every slow path that may be the first calls it. False when there is no
 * memory for the tables. */
wide_bool allocator_start(void);

#endif
