/* objects.c - the table of the live objects, and the patterns that they hold. */
#include "objects.h"
#include "fuzz.h"

/* Above WHOLE bytes: EDGE at both ends, and DOT at most every STEP, DOTS times. */
enum { WHOLE = 8 << 10, EDGE = 1 << 10, STEP = 4 << 10, DOT = 64, DOTS = 16 };

struct object objects[SLOTS];
size_t live_count, live_bytes, live_room;
static struct object *by_address[SLOTS];
static uint64_t numbers;

static char pattern(uint64_t number, size_t offset) {
    return (char)(number * 0x3b + offset * 0x1f + (offset >> 8) * 7);
}

enum visit { WRITE, COMPARE, COMPARE_ZERO };

/* Most of a run's time goes here. */
#if defined(__clang__)
#define FAST __attribute__((no_sanitize("undefined")))
#else
#define FAST
#endif

FAST static bool visit(const struct object *object, size_t from, size_t to, enum visit how) {
    char *bytes = object->bytes;
    char expected[DOT], wrong = 0;
    uint64_t number = object->number;
    for (size_t at = from, length; at < to; at += length) {
        length = to - at < DOT ? to - at : DOT;
        for (size_t i = 0; i < DOT; i++) expected[i] = how == COMPARE_ZERO ? 0 : pattern(number, at + i);
        if (how == WRITE) memcpy(bytes + at, expected, length);
        else wrong |= memcmp(bytes + at, expected, length) != 0;
    }
    return wrong == 0;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Of an object that has `written` bytes, visits those below `limit`. */
static bool visit_all(const struct object *object, size_t written, size_t limit, enum visit how) {
    if (written <= WHOLE) return visit(object, 0, least(written, limit), how);
    size_t step = written / DOTS / STEP * STEP + STEP, tail = written - EDGE;
    bool good = visit(object, 0, least(EDGE, limit), how);
    for (size_t at = step; at < least(tail, limit); at += step) good &= visit(object, at, least(at + DOT, limit), how);
    return visit(object, tail, least(written, limit), how) && good;
}

void object_write(struct object *object, size_t size) {
    object->number = ++numbers;
    object->written = size;
    object->raw = false;
    visit_all(object, size, size, WRITE);
}

void object_leave(struct object *object, size_t size) {
    object->raw = true;
    object->written = size;
    memcpy(&object->head, object->bytes, least(size, sizeof object->head));
}

bool object_holds(const struct object *object, size_t limit) {
    if (object->raw)
        return memcmp(&object->head, object->bytes, least(sizeof object->head, least(object->written, limit))) == 0;
    return visit_all(object, object->written, limit, COMPARE);
}

bool object_is_zero(const struct object *object) {
    return visit_all(object, object->size, object->size, COMPARE_ZERO);
}

/* How many live objects begin below the address. */
static size_t place_of(const char *address) {
    size_t low = 0, high = live_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_address[middle]->bytes < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void list(struct object *object) {
    size_t place = place_of(object->bytes);
    if (place > 0) EXPECT(by_address[place - 1]->bytes + by_address[place - 1]->usable <= object->bytes);
    if (place < live_count) EXPECT(object->bytes + object->usable <= by_address[place]->bytes);
    memmove(&by_address[place + 1], &by_address[place], (live_count - place) * sizeof *by_address);
    by_address[place] = object;
    live_count++;
    live_bytes += object->usable;
    live_room += object->room;
}

static void unlist(const struct object *object) {
    size_t place = place_of(object->bytes);
    EXPECT(place < live_count && by_address[place] == object);
    live_count--;
    live_bytes -= object->usable;
    live_room -= object->room;
    memmove(&by_address[place], &by_address[place + 1], (live_count - place) * sizeof *by_address);
}

void object_add(struct object *object) {
    list(object);
    object_write(object, object->size);
}

void object_add_raw(struct object *object) {
    list(object);
    object_leave(object, object->size);
}

void object_remove(struct object *object) {
    EXPECT(object_holds(object, object->written));
    unlist(object);
}

void object_change(struct object *object, char *bytes, size_t size, size_t usable, bool raw) {
    unlist(object);
    object->bytes = bytes;
    object->size = size;
    object->usable = object->room = usable;
    object->alignment = 1;
    EXPECT(object_holds(object, least(object->written, size)));
    list(object);
    if (raw) object_leave(object, size);
    else object_write(object, size);
}

void objects_check(void) {
    for (size_t i = 0; i < live_count; i++) EXPECT(object_holds(by_address[i], by_address[i]->written));
}

void objects_forget(void) {
    memset(objects, 0, sizeof objects);
    live_count = live_bytes = live_room = numbers = 0;
}
