/* steps.c - makes the call that each byte of an input stands for. Expects only what jwmalloc.h promises. */
#define _GNU_SOURCE 1
#include "steps.h"
#include "contents.h"
#include "fuzz.h"
#include "kernel.h"
#include "objects.h"

#include <errno.h>
#include <fcntl.h>

#include "base/compiler.h"
#include "config/policy.h"
#include "config/size_classes.h"
#include <jwmalloc.h>

enum { MARK = 12345, LEAST_ALIGNMENT = 16 }; /* an errno that no function sets */

static uint64_t refused_before;

/* Of the target contents. raw: the step's objects are raw. put_back: a new object gets the words that were at its
 * place. remember: the words of a freed object are kept for that. */
static bool raw, put_back, remember;

enum operation operation_of(uint8_t byte) {
    static const uint8_t weights[] = {
#define OPERATION(name, weight, with_contents) JW_FUZZ_CONTENTS ? with_contents : weight,
        OPERATIONS(OPERATION)
#undef OPERATION
    };
    enum operation operation = 0;
    for (; byte >= weights[operation]; operation++) byte -= weights[operation];
    return operation;
}

void step_show(const struct step *step) {
    static const char *const names[] = {
#define OPERATION(name, weight, with_contents) #name,
        OPERATIONS(OPERATION)
#undef OPERATION
    };
    printf("%s%-18s slot %u, count %u, stride %u, size %zu, alignment %zu, extra %u\n",
           step->second ? "  2: " : "1: ", names[step->operation], step->slot, step->count, step->stride, step->size,
           step->alignment, step->extra);
    fflush(stdout);
}

static void begin_call(void) {
    refused_before = kernel_refused();
    errno = MARK;
}

static bool call_was_refused(void) {
    return kernel_refused() != refused_before;
}

static void expect_errno(int expected) {
    int error = errno;
    if (error != expected) dprintf(STDERR_FILENO, "errno is %d, expected %d\n", error, expected);
    EXPECT(error == expected);
}

static bool is_power_of_two(size_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

/* --- freeing */

static void free_object(struct object *object, enum operation how) {
    char *bytes = object->bytes;
    if (bytes != NULL) object_remove(object);
    if (bytes != NULL && remember) contents_remember(object);
    object->bytes = NULL;
    begin_call();
    switch (how) {
    case FREE_SIZED:
        if (bytes == NULL || object->alignment == 1) jw_free_sized(bytes, bytes == NULL ? 0 : object->size);
        else jw_free(bytes);
        break;
    case FREE_ALIGNED_SIZED:
        if (bytes != NULL && object->alignment > 1) jw_free_aligned_sized(bytes, object->alignment, object->size);
        else jw_free(bytes);
        break;
    case CFREE: jw_cfree(bytes); break;
    default: jw_free(bytes);
    }
    expect_errno(MARK);
    if (bytes != NULL && remember) contents_remember_freed(bytes);
}

/* --- allocating */

/* NULL is right where the size cannot be had, or where the system refused something in this very call. */
static bool failed(const void *bytes, size_t size, size_t alignment) {
    if (bytes != NULL) {
        EXPECT(size <= PTRDIFF_MAX);
        return false;
    }
    expect_errno(ENOMEM);
    EXPECT(size > KERNEL_SURE || alignment > KERNEL_SURE || call_was_refused() || kernel_is_crowded());
    return true;
}

static void expect_place(const char *bytes, size_t size, size_t alignment) {
    size_t least = size < LEAST_ALIGNMENT ? LEAST_ALIGNMENT / 2 : LEAST_ALIGNMENT;
    EXPECT(((uintptr_t)bytes & (least - 1)) == 0);
    EXPECT(((uintptr_t)bytes & (alignment - 1)) == 0);
    size_t usable = jw_malloc_usable_size(bytes);
    EXPECT(usable >= size && (usable > 0 || JW_SECURE));
}

/* Whether an object of that size may have so much. The hardened build lets a program have what it asked for. */
static bool is_usable_size(size_t size, size_t usable) {
    if (JW_SECURE) return usable == size;
    size_t good = jw_malloc_good_size(size);
    if (usable == good) return true;
    bool mapped = good > BACKEND_MAX || good >= JW_MAPPED_FROM; /* a mapping that waited may be larger */
    if (mapped && usable > good && usable <= good + good / HUGE_ROOM_PART) return true;
    size_t granules = (size + GRANULE_SIZE - 1) / GRANULE_SIZE; /* a cached range of the next classes is larger */
    size_t most = granules > RANGE_CACHE_SMALL ? 3 * granules / 2 : 7 * granules / 4 + 1;
    if (good > BACKEND_MIN / 8 * 7 && good <= BACKEND_MAX) return usable > good && usable <= most * GRANULE_SIZE;
    if (mapped) return false;
    size_t least = usable == 64 && GRANULE_SIZE > 4096 ? 8 : usable / 2;
    return usable <= FRONTEND_MAX && (usable & (usable - 1)) == 0 && size > least; /* of a coarse class */
}

/* What an allocating function gave. `alignment` 1: an ordinary object, as large as it would always be. */
static void put_object(struct object *object, char *bytes, size_t size, size_t alignment) {
    if (failed(bytes, size, alignment)) return;
    expect_errno(MARK);
    expect_place(bytes, size, alignment);
    *object = (struct object){
        .bytes = bytes, .size = size, .usable = jw_malloc_usable_size(bytes), .alignment = alignment == 1};
    object->room = object->usable + (alignment > GRANULE_SIZE ? alignment : 0);
    if (alignment == 1 && !call_was_refused() && !kernel_is_crowded()) EXPECT(is_usable_size(size, object->usable));
    expect_errno(MARK);
    if (raw) object_add_raw(object);
    else object_add(object);
    if (put_back) contents_put_back(object);
    if (size > KERNEL_SURE) free_object(object, FREE);
}

/* Two factors of about the size; the product is what counts. */
static size_t factors(size_t size, uint8_t extra, size_t *count, size_t *each) {
    *count = extra % 4 == 0 ? 1 : extra % 4 == 1 ? size : extra % 4 == 2 ? extra : SIZE_MAX / (size | 1) + 1;
    *each = extra % 4 == 0 ? size : extra % 4 == 1 ? 1 : extra % 4 == 2 ? size / extra : size | 1;
    size_t product;
    return __builtin_mul_overflow(*count, *each, &product) ? SIZE_MAX : product;
}

static void allocate_zeroed(struct object *object, const struct step *step) {
    size_t count, each, size = factors(step->size, step->extra, &count, &each);
    begin_call();
    char *bytes = jw_calloc(count, each);
    struct object fresh = {.bytes = bytes, .size = bytes == NULL ? 0 : jw_malloc_usable_size(bytes)};
    if (bytes != NULL) EXPECT(object_is_zero(&fresh));
    put_object(object, bytes, size, 1);
}

static void allocate_aligned(struct object *object, const struct step *step) {
    size_t alignment = step->alignment, power = 1;
    while (power < alignment && power != 0) power *= 2;
    bool valid = step->operation == MEMALIGN ? power != 0 : is_power_of_two(alignment);
    begin_call();
    char *bytes =
        step->operation == MEMALIGN ? jw_memalign(alignment, step->size) : jw_aligned_alloc(alignment, step->size);
    if (!valid) {
        EXPECT(bytes == NULL);
        expect_errno(EINVAL);
        return;
    }
    /* one more than malloc's, so that put_object does not compare with malloc_good_size */
    put_object(object, bytes, step->size, power > 1 ? power : 2);
    if (object->bytes != NULL && step->operation == ALIGNED_ALLOC) object->alignment = alignment;
}

static void allocate_posix(struct object *object, const struct step *step) {
    static char untouched;
    void *bytes = &untouched;
    bool valid = is_power_of_two(step->alignment) && step->alignment % sizeof(void *) == 0;
    begin_call();
    int error = jw_posix_memalign(&bytes, step->alignment, step->size);
    expect_errno(MARK);
    EXPECT(error == 0 || (bytes == &untouched && error == (valid ? ENOMEM : EINVAL)));
    EXPECT(valid || error != 0);
    if (!valid) return;
    errno = error != 0 ? ENOMEM : MARK;
    put_object(object, error != 0 ? NULL : bytes, step->size, step->alignment);
}

static void allocate_pages(struct object *object, const struct step *step) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = step->size, rounded = (size + page - 1) / page * page;
    if (step->operation == PVALLOC) size = size > SIZE_MAX - (page - 1) ? SIZE_MAX : rounded;
    begin_call();
    put_object(object, step->operation == PVALLOC ? jw_pvalloc(step->size) : jw_valloc(step->size), size, page);
}

static void allocate(struct object *object, const struct step *step) {
    free_object(object, FREE);
    size_t size = step->size <= KERNEL_SURE ? step->size : 0,
           slack = step->alignment <= KERNEL_SURE ? step->alignment : 0;
    if (live_room + size + slack > KERNEL_LIVE) return;
    switch (step->operation) {
    case CALLOC: allocate_zeroed(object, step); return;
    case ALIGNED_ALLOC:
    case MEMALIGN: allocate_aligned(object, step); return;
    case POSIX_MEMALIGN: allocate_posix(object, step); return;
    case VALLOC:
    case PVALLOC: allocate_pages(object, step); return;
    default: begin_call(); put_object(object, jw_malloc(step->size), step->size, 1);
    }
}

/* To size 0: a free. */
static void reallocate_to_nothing(struct object *object, const struct step *step) {
    object_remove(object);
    begin_call();
    char *bytes = object->bytes;
    EXPECT((step->operation == REALLOCARRAY ? jw_reallocarray(bytes, step->size, 0) : jw_realloc(bytes, 0)) == NULL);
    expect_errno(MARK);
    object->bytes = NULL;
}

static void reallocate(struct object *object, const struct step *step) {
    size_t size = step->size, count, each;
    bool array = step->operation == REALLOCARRAY;
    if (live_room + (size <= KERNEL_SURE ? size : 0) > KERNEL_LIVE) return;
    if (array) size = factors(size, step->extra, &count, &each);
    if (object->bytes != NULL && size == 0) {
        reallocate_to_nothing(object, step);
        return;
    }
    begin_call();
    char *bytes = array ? jw_reallocarray(object->bytes, count, each) : jw_realloc(object->bytes, size);
    if (object->bytes == NULL) {
        put_object(object, bytes, size, 1);
        return;
    }
    if (failed(bytes, size, 1)) return;
    expect_errno(MARK);
    expect_place(bytes, size, 1);
    object_change(object, bytes, size, jw_malloc_usable_size(bytes), raw);
    if (put_back) contents_put_back(object);
    if (size > KERNEL_SURE) free_object(object, FREE);
}

/* --- looking and tuning */

static void use_all(struct object *object) {
    if (object->bytes == NULL) {
        EXPECT(jw_malloc_usable_size(NULL) == 0);
        return;
    }
    EXPECT(object_holds(object, object->written));
    EXPECT(jw_malloc_usable_size(object->bytes) == object->usable);
    if (raw) return;
    object_write(object, object->usable);
}

static void ask_good_size(size_t size) {
    size_t good = jw_malloc_good_size(size);
    if (size > PTRDIFF_MAX) EXPECT(good == 0);
    else if (good != 0) EXPECT(good >= size && jw_malloc_good_size(good) == good);
    else EXPECT(size > KERNEL_SURE || kernel_refused() > 0 || (JW_SECURE && size == 0));
}

static void tune(uint8_t extra) {
    static const int parameters[] = {JW_M_PURGE, JW_M_PURGE_ALL, JW_M_DECAY_TIME, JW_M_DECAY_TIME, 1, -1, 99, -2};
    int parameter = parameters[extra % 8], value = extra / 8 % 4 - 1;
    bool taken = parameter == 99 || (parameter == JW_M_DECAY_TIME && value > 1) ? false : true;
    EXPECT(jw_mallopt(parameter, value) == taken);
}

/* Text comes whole lines at a time or not; what has come ends in a newline and is plain. */
struct report {
    size_t length;
    char last;
    bool plain;
};

static void take_report(void *cookie, const char *text, size_t length) {
    struct report *report = cookie;
    for (size_t i = 0; i < length; i++) report->plain &= text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~');
    report->length += length;
    if (length > 0) report->last = text[length - 1];
}

static void expect_report(const struct report *report) {
    EXPECT(report->length > 0 && report->last == '\n' && report->plain);
}

static void print_reports(uint8_t extra) {
    struct report report = {.plain = true};
    if (extra % 4 == 0) jw_options_print(take_report, &report);
    else jw_stats_print(take_report, &report, extra % 4 == 1 ? JW_STATS_JSON : JW_STATS_TEXT);
    expect_report(&report);
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    EXPECT(stream != NULL && jw_malloc_info(extra % 16 == 15, stream) == (extra % 16 == 15 ? EINVAL : 0));
    EXPECT(fclose(stream) == 0 && (length > 0) == (extra % 16 != 15));
    free(text);
}

static void look(uint8_t extra) {
    struct jw_mallinfo2 memory = jw_mallinfo2();
    struct jw_mallinfo narrow = jw_mallinfo();
    size_t huge = 0;
    for (unsigned i = 0; i < SLOTS; i++) huge += objects[i].bytes != NULL && objects[i].usable > ROOT_SIZE;
    EXPECT(memory.hblks >= huge && (size_t)narrow.hblks == memory.hblks);
    EXPECT(memory.uordblks + memory.hblkhd >= live_bytes && memory.fordblks <= memory.arena);
    EXPECT(strcmp(jw_version(), JW_VERSION) == 0);
    print_reports(extra);
}

static void do_once(const struct step *step) {
    switch (step->operation) {
    case TRIM: jw_malloc_trim(step->extra); break;
    case MALLOPT: tune(step->extra); break;
    case STATISTICS: look(step->extra); break;
    case REFUSE: kernel_refuse(step->extra, (uint8_t)(step->count == 1 ? 0 : step->count / 2)); break;
    case RELIEVE: kernel_ends_refusals(); break;
    default: kernel_wait(step->extra * 40u);
    }
}

static void work_on_contents(struct object *object, const struct step *step, unsigned turn) {
    const struct object *other = &objects[(step->slot + step->size + turn * step->stride) % SLOTS];
    if (object->bytes == NULL || object->size == 0) return;
    switch (step->operation) {
    case COPY:
        if (other->bytes != NULL && other->size > 0) contents_copy(object, other, step->extra, turn);
        break;
    case REMEMBER: contents_remember(object); break;
    default: contents_put(object, step->extra, turn);
    }
}

void step_perform(const struct step *step) {
    raw = JW_FUZZ_CONTENTS && step->extra % 4 != 0;
    put_back = JW_FUZZ_CONTENTS && step->extra & 4;
    remember = JW_FUZZ_CONTENTS && step->extra & 8;
    if (step->operation >= TRIM) {
        do_once(step);
        return;
    }
    for (unsigned i = 0; i < step->count; i++) {
        struct object *object = &objects[(step->slot + i * step->stride) % SLOTS];
        switch (step->operation) {
        case FREE:
        case FREE_SIZED:
        case FREE_ALIGNED_SIZED:
        case CFREE: free_object(object, step->operation); break;
        case REALLOC:
        case REALLOCARRAY: reallocate(object, step); break;
        case USE_ALL: use_all(object); break;
        case GOOD_SIZE: ask_good_size(step->size + i); break;
        case COPY:
        case REMEMBER:
        case PUT: work_on_contents(object, step, i); break;
        default: allocate(object, step);
        }
    }
}
