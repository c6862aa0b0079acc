/* misuse.c - prints the message and ends the process, for platform/misuse.h and platform/assert.h. */
#include "platform/misuse.h"

#include "base/print.h"
#include "platform/assert.h"
#include "platform/platform.h"
#include "platform/tags.h"

#include <stdatomic.h>

enum { LINE_MAX_BYTES = 512 };

static _Atomic(misuse_describe *) describes;

void misuse_describes(misuse_describe *describe) {
    atomic_store_explicit(&describes, describe, memory_order_relaxed); /* published by the allocator's start */
}

static _Noreturn void end_process(struct print_buffer *text) {
    if (text->length == text->size) text->length--; /* cut off: the newline must still fit */
    print_text(text, "\n");
    platform_write(text->data, text->length); /* one write, so that lines of several processes do not mix */
    platform_abort_message(text->data, text->length);
    platform_abort();
}

/* The words for the values of three enums: misuse, serving_tier, found_state. `numbers`: what the number of a misuse
 * means, from WRONG_SIZE on. */
static const char kinds[] = "double free\0invalid free\0invalid pointer\0wrong size\0wrong alignment\0"
                            "write after free\0overflow";
static const char tiers[] = "none\0small\0mid\0large\0huge";
static const char states[] = "not allocated here\0in use\0inside an object\0between objects\0free already\0"
                             "in free memory\0in memory given back to the system";
static const char numbers[] = "given size \0given alignment \0changed at byte \0changed at byte ";

/* One string instead of an array of pointers, which the loader would have to relocate. */
static COLD struct print_buffer *print_word(struct print_buffer *text, const char *words, unsigned index) {
    while (index > 0) index -= *words++ == 0;
    return print_text(text, words);
}

static COLD void print_found(struct print_buffer *text, const struct found *found) {
    text = print_text(print_word(print_text(text, ", tier "), tiers, found->tier), ", size class ");
    if (found->size) {
        print_unsigned(text, found->size);
        text = print_text(text, " B");
    } else {
        text = print_text(text, "none");
    }
    text = print_text(text, ", owner thread ");
    if (found->owner == OWNER_NONE) print_text(text, "none");
    else if (found->owner == OWNER_ENDED) print_text(text, "ended");
    else print_unsigned(text, found->owner);
}

COLD _Noreturn void misuse(enum misuse kind, const void *address, size_t number) {
    char data[LINE_MAX_BYTES];
    struct print_buffer text = {.data = data, .size = sizeof data};
    struct found found = {.tier = TIER_NONE};
    tags_ignore();
    misuse_describe *describe = NEAR_LOAD(describes);
    if (describe) describe(address, &found);
    /* a fork's child has the heaps of the parent's threads, but not these threads */
    if (found.owner != OWNER_NONE && !platform_thread_lives(found.owner)) found.owner = OWNER_ENDED;
    if (kind == INVALID_FREE && found.state >= FOUND_FREE) kind = DOUBLE_FREE;
    if (kind == DOUBLE_FREE && found.state < FOUND_FREE) found.state = FOUND_FREE;
    print_hex(print_text(print_word(print_text(&text, "jwmalloc: "), kinds, kind), ": address "), (uintptr_t)address);
    print_found(&text, &found);
    print_text(&text, " (");
    if (kind >= WRONG_SIZE) print_unsigned(print_word(&text, numbers, kind - WRONG_SIZE), number);
    else print_word(&text, states, found.state);
    print_text(&text, ")");
    end_process(&text);
}

COLD _Noreturn void invariant_broken(const char *condition, const char *file, int line) {
    char data[LINE_MAX_BYTES];
    struct print_buffer text = {.data = data, .size = sizeof data};
    print_text(&text, "jwmalloc: invariant broken: ");
    print_text(&text, condition);
    print_text(&text, " (");
    print_text(&text, file);
    print_text(&text, ":");
    print_unsigned(&text, (unsigned)line);
    print_text(&text, ")");
    end_process(&text);
}
