/* transcript_told.h - what the allocator tells of addresses, and says of misuse, as a part of a transcript. */
#ifndef JW_TESTS_TRANSCRIPT_TOLD_H
#define JW_TESTS_TRANSCRIPT_TOLD_H

#include "transcript_program.h"

#include "core/describe.h"

static jmp_buf aborted;

static void after_abort(void) {
    longjmp(aborted, 1);
}

static void say_described(const char *name, const void *address) {
    struct found found;
    describe(address, &found);
    say("%s: tier %d, state %d, size %zu, owner %u\n", name, (int)found.tier, (int)found.state, found.size,
        found.owner);
}

/* A line for each kind of address in and around an object of that size: in use, then free, then given back. */
static void describe_size(size_t size) {
    say("\nan object of %zu\n", size);
    char *object = take(1, size), *last = object + serve_object_size(object) - 1;
    say_described("its start", object);
    say_described("inside", object + 8);
    say_described("its last byte", last);
    say_described("behind", last + 1);
    say("size %zu, live %zu, inside %zu\n", serve_object_size(object), size_if_live(object), size_if_live(object + 16));
    give_many(1, 1, 1);
    say_described("free", object);
    say_described("inside what is free", last);
    say("live %zu\n", size_if_live(object));
    heap_enter(heaps[1]);
    say("live for its thread %zu\n", size_if_live(object));
    serve_drain();
    heap_enter(heaps[0]);
    say_described("drained", object);
    purge_for(PURGE_OWN, NO_LIMIT);
    say_described("given back", object);
    say_described("inside what is given back", last);
}

/* What the process says as it ends; "" if it goes on. The address is told as `at`, or `at` and so many bytes. */
static void say_message(const char *name, void (*wrong)(char *object), char *object) {
    char address[32], *at, text[512];
    sim_on_abort(after_abort);
    if (setjmp(aborted) == 0) {
        wrong(object);
        say("%s: nothing\n", name);
        return;
    }
    snprintf(text, sizeof text, "%s", sim_last_text());
    for (unsigned off = 0; off < 64; off++) {
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)(uintptr_t)(object + off));
        if (!(at = strstr(text, address))) continue;
        say("%s: %.*sat+%u%s", name, (int)(at - text), text, off, at + strlen(address));
        return;
    }
    say("%s: %s", name, text);
}

static void free_it(char *object) {
    jw_free(object);
}

static void free_twice(char *object) {
    jw_free(object);
    jw_free(object);
}

static void free_inside(char *object) {
    jw_free(object + 16);
}

static void size_inside(char *object) {
    serve_object_size(object + 16);
}

static void free_smaller(char *object) {
    serve_free_of_size(object, serve_object_size(object) / 2 - 1);
}

static void free_larger(char *object) {
    serve_free_of_size(object, serve_object_size(object) + 1);
}

static void free_misaligned(char *object) {
    serve_free_aligned(object, JW_SIM_ALIGNMENT, serve_object_size(object));
}

static void resize_inside(char *object) {
    serve_resized(object + 16, 5000);
}

static void misuse_of_size(size_t size) {
    static const struct {
        const char *name;
        void (*wrong)(char *object);
    } wrongs[] = {{"free twice", free_twice},          {"free inside", free_inside}, {"size inside", size_inside},
                  {"resize inside", resize_inside},    {"too small", free_smaller},  {"too large", free_larger},
                  {"wrong alignment", free_misaligned}};
    say("\nmisuse of an object of %zu\n", size);
    for (unsigned i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        say_message(wrongs[i].name, wrongs[i].wrong, jw_malloc(size));
    char *object = jw_malloc(size);
    jw_free(object);
    purge_for(PURGE_OWN, NO_LIMIT);
    say_message("free once more, when all is given back", free_it, object);
}

static void told_of_addresses(void) {
    static const size_t sizes[] = {8, 100, 2048, 3000, 14000, 20000, 300000, 5 << 20};
    begin_script("What is told of addresses");
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) describe_size(sizes[i]);
    say_described("a constant", "text");
    say_described("NULL", NULL);
    say("\ngood sizes\n");
    for (size_t alignment = 1; alignment <= 8 << 20; alignment *= 8) {
        say("alignment %zu:", alignment);
        for (size_t size = 0; size < 16 << 20; size = size * 3 + 7) say(" %zu", SERVED(good_size)(alignment, size));
        say("\n");
    }
    say("\n");
    end_script();
}

/* Calls end in the midst, so this comes last. */
static inline void told_of_misuse(void) {
    static const size_t sizes[] = {24, 100, 2048, 3000, 14000, 20000, 300000, 5 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) misuse_of_size(sizes[i]);
    sim_on_abort(NULL);
}

#endif
