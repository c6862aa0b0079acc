/* contents.c - remembers the words of freed objects, and writes them back where a new object gets the place. */
#include "contents.h"
#include "fuzz.h"

#include <sys/syscall.h>

#include "config/geometry.h"

enum { REMEMBERED = 4096, WORDS = 1024 /* of one object */, STRIDE = 8 };

static struct {
    const char *address;
    uint64_t word;
} remembered[REMEMBERED];
static size_t count;

void contents_forget(void) {
    count = 0;
}

static void remember(const char *address, uint64_t word) {
    if (word == 0) return;
    remembered[count % REMEMBERED].address = address;
    remembered[count % REMEMBERED].word = word;
    count++;
}

/* Of a large object some words of each granule, the first among them: there a slab's first object may have been. */
void contents_remember(const struct object *object) {
    size_t step = STRIDE;
    while (object->size / step > WORDS) step *= 2;
    for (size_t at = 0; at + sizeof(uint64_t) <= object->size; at += step) {
        uint64_t word;
        memcpy(&word, object->bytes + at, sizeof word);
        remember(object->bytes + at, word);
    }
}

/* By a system call, which tells when there is no memory any more. */
void contents_remember_freed(const char *address) {
    static int ends[2];
    uint64_t word;
    EXPECT(ends[1] != 0 || pipe(ends) == 0);
    if (syscall(SYS_write, ends[1], address, sizeof word) != (long)sizeof word) return;
    EXPECT(read(ends[0], &word, sizeof word) == (ssize_t)sizeof word);
    remember(address, word);
}

static void put(struct object *object, uint64_t word) {
    size_t length = object->size < sizeof word ? object->size : sizeof word;
    memcpy(object->bytes, &word, length);
    object_leave(object, object->size);
}

void contents_put_back(struct object *object) {
    size_t kept = count < REMEMBERED ? count : REMEMBERED;
    for (size_t back = 1; back <= kept; back++) {
        size_t i = (count - back) % REMEMBERED;
        if (remembered[i].address != object->bytes) continue;
        put(object, remembered[i].word);
        return;
    }
}

void contents_put(struct object *object, uint8_t choice, unsigned turn) {
    uint64_t here = (uintptr_t)object->bytes;
    const uint64_t ends[] = {0, ~(uint64_t)0, 1, here, here | 1, here - 1, (uint64_t)0xffff << 48, here ^ ~(uint64_t)0};
    size_t kept = count < REMEMBERED ? count : REMEMBERED;
    size_t i = kept > 0 ? (count - 1 - ((choice >> 2) * 7u + turn) % kept) % REMEMBERED : 0;
    if (choice % 4 == 0) contents_put_back(object);
    else if (choice % 4 == 3 || kept == 0) put(object, ends[(choice >> 2) % 8]);
    else if (choice % 4 == 1) put(object, remembered[i].word);
    else put(object, remembered[i].word ^ (uintptr_t)remembered[i].address ^ here);
}

void contents_copy(struct object *to, const struct object *from, uint8_t choice, unsigned turn) {
    size_t offset = (choice & 1) ? (size_t)turn * GRANULE_SIZE : (choice & 2) ? (size_t)turn * 16 : 0;
    if (offset >= from->size) offset = 0;
    size_t left = from->size - offset, length = left < to->size ? left : to->size;
    if (choice & 4 && length > 16) length = 16; /* a struct */
    memmove(to->bytes, from->bytes + offset, length);
    object_leave(to, to->size);
}
