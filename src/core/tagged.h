/* tagged.h - the entry points of a plain core whose small and mid objects have memory tags (platform/tags.h), around
 * those of core/allocator.h. malloc and free are there, too, under their exported names. -DJW_TAGGED=1, AArch64.
 *
 *   free object    tag 0, the allocator's: so all code below knows nothing of tags. A byte behind its links has the tag
 *                  that it had last
 *   malloc         allocator's object -> a random tag -> the program's pointer, which has it, too
 *   free           pointer's tag is the memory's, else misuse -> tag 0 -> the allocator
 *
 * Each object has a number in its slab. An even number gets an odd tag, and an odd one an even tag. So neighbours never
 * have the same tag, whichever threads allocate them; nor has an object its predecessor's. Sizes below 16 count as 16,
 * as a tag is for 16 bytes: then no two objects share one. Large and huge objects have tag 0.
 *
 * When objects get tags, and which, is in tagging.h.
 *
 * Progress: as the allocator's. */
#ifndef JW_TAGGED_H
#define JW_TAGGED_H

#include "core/allocator.h"

/* Like the functions of core/allocator.h. */
void *tagged_allocate_zeroed(size_t size);
void *tagged_allocate_aligned(size_t alignment, size_t size);
void *tagged_reallocate(void *object, size_t size);
void tagged_free_of_size(void *object, size_t size);
void tagged_free_aligned_of_size(void *object, size_t alignment, size_t size);
size_t tagged_object_size(const void *object);
size_t tagged_good_size(size_t alignment, size_t size);

#endif
