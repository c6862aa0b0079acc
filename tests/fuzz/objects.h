/* objects.h - the oracle: all objects that the program under test has, where they are and what must be in them.
 *
 * An object's bytes follow from its number and the offset alone, so that a prefix survives realloc. Small objects are
 * written and checked whole; of large ones the head, the tail, and some bytes at regular distances. */
#ifndef JW_TESTS_FUZZ_OBJECTS_H
#define JW_TESTS_FUZZ_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    char *bytes;         /* NULL: there is none */
    size_t size;         /* asked for */
    size_t usable, room; /* room: of addresses, so with what an alignment may need */
    size_t written;      /* so many bytes carry the pattern: `size` or all that is usable */
    size_t alignment;    /* what aligned_alloc was given, else 0 */
    uint64_t number;
    uint64_t head; /* of a raw object: its first bytes */
    bool raw;      /* it has whatever bytes it had; they must stay */
};

enum { SLOTS = 1024 };
extern struct object objects[SLOTS];
extern size_t live_count, live_bytes, live_room;

/* Adds an object, which must overlap no other. object_add writes its pattern, object_add_raw nothing. */
void object_add(struct object *object);
void object_add_raw(struct object *object);

/* The object is raw from now on, with the bytes that it has. */
void object_leave(struct object *object, size_t size);

/* The object's pattern holds up to `limit`. */
bool object_holds(const struct object *object, size_t limit);

/* Removes an object that is about to be freed. Its contents must be as they were left. */
void object_remove(struct object *object);

/* Writes the pattern of a new number over `size` bytes. */
void object_write(struct object *object, size_t size);

/* The object has another address or size now; what it had before must still be there. It gets a pattern, or is raw. */
void object_change(struct object *object, char *bytes, size_t size, size_t usable, bool raw);

/* The bytes that object_write would write are zero. */
bool object_is_zero(const struct object *object);

void objects_check(void);
void objects_forget(void);

#endif
