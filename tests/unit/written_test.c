/* written_test.c - what is said of a write to a free object of the frontend or the midend: the kind of misuse, the
 * object, the byte. With the pattern of checked builds (JW_FILL), and as what ships. */
#include "heap_players.h"
#include "midend/midend.h"
#include "platform/fill.h"

#include <sys/wait.h>

enum { NOTHING = -1, LINK = 7, OBJECTS = 4, TRIES = 1000, OF_MIDEND = FRONTEND_MAX + 1 };

struct told {
    int kind;
    ptrdiff_t away; /* from the object that was written to */
    size_t number;
};

static int told_to;
static char *written;

_Noreturn void __wrap_misuse(enum misuse kind, const void *address, size_t number);

_Noreturn void __wrap_misuse(enum misuse kind, const void *address, size_t number) {
    struct told told = {(int)kind, (const char *)address - written, number};
    CHECK(write(told_to, &told, sizeof told) == sizeof told);
    _exit(0);
}

static bool drains; /* the heap's lists, so that another reader follows the link */
static char *one;   /* the object's link leads there */

/* The last two bits of that byte, which is the link's last one, or of the pattern. */
static void change_byte(size_t at) {
    written[at] ^= 3;
}

static char *target;

/* The link leads elsewhere: all that there is to be known for that is where it led. */
static void change_link(size_t away) {
    uint64_t *link = (uint64_t *)written, here = (uintptr_t)written;
    uint64_t key = *link ^ (uintptr_t)one ^ here;
    *link = key ^ here ^ (uintptr_t)(target + away);
}

static void write_and_allocate(size_t size, void (*change)(size_t at), size_t at) {
    char *objects[OBJECTS];
    struct told nothing = {NOTHING, 0, 0};
    for (unsigned i = 0; i < OBJECTS; i++) objects[i] = jw_malloc(size);
    jw_free(one = objects[1]);
    jw_free(written = objects[2]);
    change(at);
    if (drains) heap_drain_own();
    for (unsigned i = 0; i < TRIES; i++) jw_malloc(size);
    CHECK(write(told_to, &nothing, sizeof nothing) == sizeof nothing);
}

static struct told told_of(size_t size, void (*change)(size_t at), size_t at) {
    int ends[2], status;
    struct told told = {NOTHING, 0, 0};
    fflush(NULL);
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        told_to = ends[1];
        write_and_allocate(size, change, at);
        _exit(0);
    }
    CHECK(close(ends[1]) == 0 && read(ends[0], &told, sizeof told) == sizeof told);
    CHECK(close(ends[0]) == 0 && waitpid(child, &status, 0) == child && status == 0);
    return told;
}

static void is_told(struct told told, size_t number) {
    assert_int_equal(told.kind, WRITE_AFTER_FREE);
    assert_int_equal(told.away, 0);
    assert_int_equal(told.number, number);
}

static void changed_bytes_are_told(void **state) {
    (void)state;
    static const size_t sizes[] = {64, 112, 2048, OF_MIDEND, 8192};
    start();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *object = allocate_as(0, sizes[i]);
        size_t used = serve_object_size(object), links = sizes[i] < OF_MIDEND ? 8 : 16;
        jw_free(object);
        drains = true;
        is_told(told_of(sizes[i], change_byte, LINK), 0);
        drains = false;
        is_told(told_of(sizes[i], change_byte, LINK), 0);
        const size_t places[] = {links, links + 1, used / 2, used - 1};
        for (unsigned j = 0; j < sizeof places / sizeof *places; j++) {
            struct told told = told_of(sizes[i], change_byte, places[j]);
            if (JW_FILL) is_told(told, places[j]);
            else assert_int_equal(told.kind, NOTHING);
        }
    }
    if (JW_FILL) is_told(told_of(OF_MIDEND, change_byte, 8), 8); /* the number of the heap that caches it */
    finish();
}

static char own[2 * GRANULE_SIZE];

static void a_link_of_the_midend_leads_to_its_class(void **state) {
    (void)state;
    start();
    char *small = allocate_as(0, 64), *other = allocate_as(0, 3 * GRANULE_SIZE), *same = allocate_as(0, OF_MIDEND);
    char *large = allocate_as(0, BACKEND_MIN);
    const struct {
        char *target;
        size_t away;
    } wrongs[] = {{small, 0}, {other, 0}, {large, 0}, {same, 8}, {own + GRANULE_SIZE, 0}, {own, 1}};
    for (unsigned i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        target = wrongs[i].target;
        is_told(told_of(OF_MIDEND, change_link, wrongs[i].away), 0);
    }
    jw_free(small);
    jw_free(other);
    jw_free(same);
    jw_free(large);
    finish();
}

enum { OLD = 64, NEW = 96, MANY = 4 * GRANULE_SIZE / OLD };

/* Nothing was written to the objects: so all that is not zero is a link. `of_slabs`: the slabs are still there. */
static unsigned links_left(char *const *objects, bool of_slabs) {
    unsigned left = 0;
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(of_slabs || slab_has_key(slab_of(objects[i]), 0));
        for (unsigned word = 0; word < OLD / sizeof(uint64_t); word++) left += ((uint64_t *)objects[i])[word] != 0;
    }
    return left;
}

/* Whoever gets the memory of a slab that ceases to be one, or that serves another class, reads no link. */
static void old_links_do_not_travel(void **state) {
    (void)state;
    char *objects[MANY];
    if (JW_FILL) skip();
    for (unsigned to_other_class = 0; to_other_class < 2; to_other_class++) {
        start();
        for (unsigned i = 0; i < MANY; i++) objects[i] = allocate_as(0, OLD);
        assert_int_equal(links_left(objects, true), 0);
        for (unsigned i = 0; i < MANY; i++) jw_free(objects[i]);
        assert_true(links_left(objects, true) > MANY / 2);
        if (to_other_class) {
            for (unsigned i = 0; i < MANY / 2; i++) {
                objects[i] = allocate_as(0, NEW);
                assert_true(bytes_are_zero(objects[i], NEW));
            }
            for (unsigned i = 0; i < MANY / 2; i++) jw_free(objects[i]);
        } else {
            heap_drain_own();
            assert_int_equal(links_left(objects, false), 0);
        }
        finish();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_bytes_are_told),
        cmocka_unit_test(a_link_of_the_midend_leads_to_its_class),
        cmocka_unit_test(old_links_do_not_travel),
    };
    CHECK(allocator_start());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
