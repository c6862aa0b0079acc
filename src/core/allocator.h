/* allocator.h - the three tiers as one allocator: what core/ offers to the layers above it.
 *
 * Sizes above PTRDIFF_MAX and lack of memory give NULL and ENOMEM. An address that is no live object of ours ends the
 * process with one line, wherever the allocator can recognize it.
 */
#ifndef JW_ALLOCATOR_H
#define JW_ALLOCATOR_H

#include "core/aligned.h"
#include "core/allocate.h"
#include "core/free.h"
#include "core/object_size.h"
#include "core/realloc.h"
#include "core/sized.h"
#include "core/start.h"
#include "core/zeroed.h"

#endif
