/* contents.h - what a program may leave in its objects, and put there: no content may be taken for the allocator's own.
 *
 * The target `contents` is api.c with objects that nobody writes to. They hold what others left: data, links of
 * free lists, ends of lists. Such bytes are copied on, remembered with their address, and written again as first
 * words: where they stood when that address is given out once more, elsewhere, and moved from place to place. */
#ifndef JW_TESTS_FUZZ_CONTENTS_H
#define JW_TESTS_FUZZ_CONTENTS_H

#include "objects.h"

#ifndef JW_FUZZ_CONTENTS
#define JW_FUZZ_CONTENTS 0
#endif

void contents_forget(void);

/* The words of a live object, which it need not have written. */
void contents_remember(const struct object *object);

/* The first word at an address that has just been freed. The memory may be gone. */
void contents_remember_freed(const char *address);

/* Puts the word that once stood at the object's address there. Nothing is known of most addresses. */
void contents_put_back(struct object *object);

/* Writes a first word: a remembered one as it is, moved from its place to this one, or one that looks like an end. */
void contents_put(struct object *object, uint8_t choice, unsigned turn);

/* Copies bytes, from some way into `from`. */
void contents_copy(struct object *to, const struct object *from, uint8_t choice, unsigned turn);

#endif
