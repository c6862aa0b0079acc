/* dispatch_tests.h - a C library's table filled in by src/api/dispatch.h: each entry is ours, and does what it is for.
 *
 * The including program says which table. The types are those of the platforms' headers, with mallinfo's ten numbers.
 * So the system's malloc.h, which has others, is not included. */
#ifndef JW_TESTS_DISPATCH_H
#define JW_TESTS_DISPATCH_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NUMBERS arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost
struct mallinfo {
    size_t NUMBERS;
};

#ifdef DISPATCH_ANDROID
#define HAVE_DEPRECATED_MALLOC_FUNCS
#define TABLE MallocDispatch
typedef uintptr_t place;
#define OWN_ENTRIES int (*posix_memalign)(void **, size_t, size_t);
#define CONST const
#else
#define TABLE MallocDispatchType
typedef void *place;
struct mallinfo2 {
    size_t NUMBERS;
};
#define OWN_ENTRIES                                                                                                    \
    void *(*mmap)(void *, size_t, int, int, int, long);                                                                \
    struct mallinfo2 (*mallinfo2)(void);                                                                               \
    void (*malloc_stats_print)(void (*)(void *, const char *), void *, const char *);
#define CONST
#endif

struct TABLE {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    size_t (*malloc_usable_size)(CONST void *);
    struct mallinfo (*mallinfo)(void);
    int (*malloc_iterate)(place, size_t, void (*)(place, size_t, void *), void *);
    void (*malloc_disable)(void);
    void (*malloc_enable)(void);
    int (*malloc_info)(int, FILE *);
    int (*mallopt)(int, int);
    OWN_ENTRIES
};

#include "../../src/api/dispatch.h"

static const struct TABLE table = {DISPATCH_ENTRIES};

/* dispatch.def names what each platform asks for; the document comes from there. */
static void each_named_entry_is_filled_in(void **state) {
    (void)state;
#define HAS(name) assert_non_null(table.name);
#define ENTRY(platform, name, ours, remark) HAS_##platform(name)
#define LACKS(platform, name, remark)
#ifdef DISPATCH_ANDROID
#define HAS_Android(name) HAS(name)
#define HAS_OpenHarmony(name)
#else
#define HAS_Android(name)
#define HAS_OpenHarmony(name) HAS(name)
#if DISPATCH_OPENHARMONY > 4
#define memalign aligned_alloc
#endif
#endif
#include "../../src/api/dispatch.def"
#undef memalign
}

static void objects_come_and_go(void **state) {
    (void)state;
    char *object = table.malloc(100);
    assert_true(table.malloc_usable_size(object) >= 100);
    memset(object, 7, 100);
    object = table.realloc(object, 5000);
    assert_true(object[99] == 7);
    table.free(object);
    object = table.calloc(10, 300);
    for (size_t i = 0; i < 3000; i++) assert_int_equal(object[i], 0);
    table.free(object);
    table.free(object = table.valloc(10));
    assert_int_equal((uintptr_t)object % 4096, 0);
}

static void objects_are_aligned(void **state) {
    (void)state;
    void *object = NULL;
#ifdef DISPATCH_ANDROID
    assert_int_equal(table.posix_memalign(&object, 256, 10), 0);
    assert_int_equal((uintptr_t)object % 256, 0);
    table.free(object);
    table.free(object = table.pvalloc(10));
    assert_int_equal((uintptr_t)object % 4096, 0);
#endif
    assert_true(table.memalign != NULL || table.aligned_alloc != NULL);
    if (table.memalign != NULL) {
        table.free(object = table.memalign(256, 10));
        assert_int_equal((uintptr_t)object % 256, 0);
    }
    if (table.aligned_alloc != NULL) {
        table.free(object = table.aligned_alloc(256, 512));
        assert_int_equal((uintptr_t)object % 256, 0);
    }
}

struct seen {
    place object;
    size_t size;
    unsigned times;
};

static void note_object(place object, size_t size, void *argument) {
    struct seen *seen = argument;
    if (object != seen->object) return;
    seen->size = size;
    seen->times++;
}

static void objects_are_told_of(void **state) {
    (void)state;
    char *object = table.malloc(3000);
    struct seen seen = {(place)object, 0, 0};
    int result = table.malloc_iterate((place)object, 1, note_object, &seen);
    if (result != 0) assert_int_equal(errno, ENOTSUP); /* the hardened build */
    assert_int_equal(seen.times, result == 0);
    if (result == 0) assert_true(seen.size >= 3000);
    table.malloc_disable();
    table.free(object);
    table.malloc_enable();
}

#ifdef DISPATCH_OPENHARMONY
static void addresses_are_told_apart(void **state) {
    (void)state;
    char *objects[] = {table.malloc(24), table.malloc(3000), table.malloc(100000), table.malloc(5 << 20)}, local;
    int known = dispatch_check_from_ptr(objects[0]);
    if (known < 0) assert_int_equal(errno, ENOSYS); /* the hardened build */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(dispatch_check_from_ptr(objects[i]), known < 0 ? -1 : 1);
        assert_int_equal(dispatch_check_from_ptr(objects[i] + 8), known < 0 ? -1 : 0);
        table.free(objects[i]);
        assert_int_equal(dispatch_check_from_ptr(objects[i]), known < 0 ? -1 : 0);
    }
    assert_int_equal(dispatch_check_from_ptr(&local), known < 0 ? -1 : 0);
    assert_int_equal(dispatch_check_from_ptr(NULL), known < 0 ? -1 : 0);
}
#endif

static void write_to_length(void *length, const char *text) {
    *(size_t *)length += strlen(text);
}

static void numbers_are_told(void **state) {
    (void)state;
    enum { SIZE = 5 << 20 };
    size_t before = table.mallinfo().uordblks, length = 0;
    char *object = table.malloc(SIZE);
    assert_true(table.mallinfo().uordblks >= before + SIZE);
    assert_true(table.mallinfo().hblks >= 1);
#ifdef DISPATCH_OPENHARMONY
    assert_true(table.mallinfo2().uordblks >= before + SIZE);
    assert_null(table.mmap); /* is the C library's */
    table.malloc_stats_print(write_to_length, &length, "");
#else
    write_to_length(&length, ".");
#endif
    assert_true(length > 0);
    table.free(object);
    FILE *nowhere = fopen("/dev/null", "w");
    assert_int_equal(table.malloc_info(0, nowhere), 0);
    fclose(nowhere);
    assert_int_equal(table.mallopt(12345, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_named_entry_is_filled_in),
        cmocka_unit_test(objects_come_and_go),
        cmocka_unit_test(objects_are_aligned),
        cmocka_unit_test(objects_are_told_of),
#ifdef DISPATCH_OPENHARMONY
        cmocka_unit_test(addresses_are_told_apart),
#endif
        cmocka_unit_test(numbers_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
