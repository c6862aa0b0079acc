/* transcript_wrongs.h - what the hardened build says of overflows, writes after free and other misuse, as a part of a
 * transcript. */
#ifndef JW_TESTS_TRANSCRIPT_WRONGS_H
#define JW_TESTS_TRANSCRIPT_WRONGS_H

#include "transcript_told.h"

#include <fcntl.h>

#include "hardened/trailer.h"

static int told; /* where a child says how it ends */

static void end_child(void) {
    const char *text = sim_last_text();
    CHECK(write(told, text, strlen(text)) >= 0);
    exit(0); /* not _exit: its lines count as executed, too */
}

/* Addresses are told from the object on. */
static void say_told(const char *name, const char *text, const char *object) {
    const char *at = strstr(text, "0x");
    char *behind = NULL;
    if (!at) {
        say("%s: %s", name, text);
        return;
    }
    long away = (long)(strtoull(at, &behind, 16) - (uintptr_t)object);
    say("%s: %.*sat%+ld%s", name, (int)(at - text), text, away, behind);
}

/* In a process of its own, since what is wrong would be found again. */
static void say_wrong(const char *name, void (*wrong)(char *object, size_t size), size_t size) {
    int ends[2], status;
    char text[512] = "";
    char *object = jw_malloc(size);
    CHECK(object && pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        told = ends[1];
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        sim_on_abort(end_child);
        wrong(object, size);
        CHECK(write(told, "nothing\n", 8) == 8);
        exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    say_told(name, text, object);
    jw_free(object);
}

static void overflow_by(char *object, size_t at) {
    object[at] ^= 1;
    jw_free(object);
}

static void overflow_first(char *object, size_t size) {
    overflow_by(object, size);
}

static void overflow_fifth(char *object, size_t size) {
    overflow_by(object, size + 5);
}

static void overflow_far(char *object, size_t size) {
    overflow_by(object, size + 20);
}

static void overflow_canary(char *object, size_t size) {
    (void)size;
    overflow_by(object, size_if_live(object) - TRAILER_SIZE);
}

static void overflow_told(char *object, size_t size) {
    (void)size;
    overflow_by(object, size_if_live(object) - TRAILER_SIZE + 2);
}

static void overflow_code(char *object, size_t size) {
    (void)size;
    overflow_by(object, size_if_live(object) - 1);
}

/* The trailer of the object before. */
static void neighbour(char *object, size_t size) {
    (void)size;
    object[-TRAILER_SIZE] ^= 1;
    jw_free(object);
}

static void free_twice_later(char *object, size_t size) {
    jw_free(object);
    for (unsigned i = 0; i < 5; i++) jw_free(jw_malloc(size + 100));
    jw_free(object);
}

static void write_after_free(char *object, size_t size, size_t offset) {
    jw_free(object);
    object[offset] ^= 1;
    for (unsigned i = 0; i < 400; i++) jw_free(jw_malloc(size));
    hardened_drain();
    for (unsigned i = 0; i < 400; i++) jw_malloc(size);
}

static void written_first(char *object, size_t size) {
    write_after_free(object, size, 0);
}

static void written_inside(char *object, size_t size) {
    write_after_free(object, size, size / 2);
}

static void written_last(char *object, size_t size) {
    write_after_free(object, size, size - 1);
}

static void written_trailer(char *object, size_t size) {
    write_after_free(object, size, size_if_live(object) - 2);
}

static void overflow_and_resize(char *object, size_t size) {
    object[size] ^= 1;
    serve_resized(object, size * 3);
}

static void overflow_and_resize_little(char *object, size_t size) {
    object[size] ^= 1;
    serve_resized(object, size - 1);
}

static void freed_and_resized(char *object, size_t size) {
    jw_free(object);
    serve_resized(object, size * 3);
}

static void size_of_freed(char *object, size_t size) {
    (void)size;
    jw_free(object);
    serve_object_size(object);
}

static void one_less(char *object, size_t size) {
    serve_free_of_size(object, size - 1);
}

static void unaligned(char *object, size_t size) {
    serve_free_aligned(object, JW_SIM_ALIGNMENT, size);
}

static void inside(char *object, size_t size) {
    (void)size;
    jw_free(object + 16);
}

static void just_so(char *object, size_t size) {
    serve_free_aligned(object, 16, size);
}

static void zero_twice(char *object, size_t size) {
    (void)object, (void)size;
    char *nothing = jw_malloc(0);
    jw_free(nothing);
    jw_free(nothing);
}

static void zero_of_one(char *object, size_t size) {
    (void)object, (void)size;
    serve_free_of_size(jw_malloc(0), 1);
}

static void zero_inside(char *object, size_t size) {
    (void)object, (void)size;
    jw_free((char *)jw_malloc(0) + 1);
}

static void zero_resized(char *object, size_t size) {
    (void)object;
    char *nothing = jw_malloc(0);
    jw_free(nothing);
    serve_resized(nothing, size);
}

static const struct {
    const char *name;
    void (*wrong)(char *object, size_t size);
} wrongs[] = {{"overflow", overflow_first},
              {"overflow by five", overflow_fifth},
              {"overflow by twenty", overflow_far},
              {"the canary", overflow_canary},
              {"what the trailer tells", overflow_told},
              {"the code", overflow_code},
              {"the object before", neighbour},
              {"freed twice", free_twice_later},
              {"written first", written_first},
              {"written inside", written_inside},
              {"written last", written_last},
              {"trailer written", written_trailer},
              {"overflow and resize", overflow_and_resize},
              {"overflow and resize a little", overflow_and_resize_little},
              {"freed and resized", freed_and_resized},
              {"size of a free one", size_of_freed},
              {"of a smaller size", one_less},
              {"of another alignment", unaligned},
              {"inside", inside},
              {"just so", just_so}};

/* Beside ten objects of the size. */
static void wrongs_of(size_t size) {
    say("\nan object of %zu\n", size);
    STEP("neighbours", take_many(0, 10, size));
    for (unsigned i = 0; i < sizeof wrongs / sizeof *wrongs; i++) say_wrong(wrongs[i].name, wrongs[i].wrong, size);
    give_all();
}

static void wrongs_of_zero(void) {
    say("\n");
    say_wrong("size 0, freed twice", zero_twice, 8);
    say_wrong("size 0, freed as of size 1", zero_of_one, 8);
    say_wrong("inside size 0", zero_inside, 8);
    say_wrong("size 0, freed and resized", zero_resized, 8);
}

#endif
