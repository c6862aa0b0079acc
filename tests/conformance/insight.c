/* insight.c - the entry points that look and tune, and the C library's second names. */
#include "cases.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

static void counts_what_is_in_use(size_t size, size_t unused) {
    (void)unused;
    struct mallinfo2 before = mallinfo2();
    char *object = malloc(size);
    memset(object, 1, size);
    struct mallinfo2 with = mallinfo2();
    CHECK(with.uordblks + with.hblkhd >= before.uordblks + before.hblkhd + size);
    free(object);
    struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks + after.hblkhd < with.uordblks + with.hblkhd);
}

static void old_mallinfo_agrees(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    void *object = malloc(100000);
    struct mallinfo old = mallinfo();
    struct mallinfo2 new = mallinfo2();
    CHECK((size_t)old.uordblks + 10000 > new.uordblks && (size_t)old.uordblks < new.uordblks + 10000);
    CHECK((size_t)old.arena + (size_t)old.hblkhd > 0);
    free(object);
}

static void huge_objects_are_counted(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    size_t before = mallinfo2().hblks;
    void *object = malloc(40 * MB);
    CHECK(mallinfo2().hblks == before + 1 && mallinfo2().hblkhd >= 40 * MB);
    free(object);
    CHECK(mallinfo2().hblks == before);
}

static void info_is_xml(size_t objects, size_t unused) {
    (void)unused;
    char *text = NULL;
    size_t length = 0;
    for (size_t i = 0; i < objects; i++) CHECK(malloc(i * 37 % 5000) != NULL);
    FILE *stream = open_memstream(&text, &length);
    CHECK(malloc_info(0, stream) == 0);
    CHECK(fclose(stream) == 0 && length > 20);
    CHECK(strncmp(text, "<malloc version=\"", 17) == 0 && strcmp(text + length - 10, "</malloc>\n") == 0);
    size_t depth = 0;
    for (const char *at = text; (at = strchr(at, '<')) != NULL; at++) {
        const char *end = strchr(at, '>');
        CHECK(end != NULL);
        if (at[1] == '/') depth--;
        else if (end[-1] != '/') depth++;
    }
    CHECK(depth == 0);
    free(text);
}

static void info_knows_no_options(size_t option, size_t unused) {
    (void)unused;
    FILE *stream = tmpfile();
    CHECK(stream != NULL && malloc_info((int)option, stream) == EINVAL && ftell(stream) == 0);
}

static void stats_go_to_stderr(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    char path[] = "/tmp/conformanceXXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0 && unlink(path) == 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    malloc_stats();
    CHECK(lseek(file, 0, SEEK_END) > 10);
}

static void trim_gives_back(size_t size, size_t unused) {
    (void)unused;
    enum { COUNT = 20000 };
    static void *objects[COUNT];
    size_t count = 40 * MB / size < COUNT ? 40 * MB / size : COUNT, before = resident_bytes();
    for (size_t i = 0; i < count; i++) memset(objects[i] = malloc(size), 1, size);
    size_t full = resident_bytes();
    for (size_t i = 0; i < count; i++) free(objects[i]);
    malloc_trim(0);
    CHECK(resident_bytes() < before + (full - before) / 4);
    int again = malloc_trim(64 * KB);
    CHECK(again == 0 || again == 1);
}

static void option_is_known(size_t parameter, size_t value) {
    CHECK(mallopt((int)parameter, (int)value) == 1);
    tiers_work(1);
}

/* What these give, free takes. */
static void second_name(size_t which, size_t unused) {
    (void)unused;
    static const char *const names[] = {"__libc_malloc",   "__libc_calloc", "__libc_realloc",
                                        "__libc_memalign", "__libc_valloc", "__libc_pvalloc"};
    void *function = dlsym(RTLD_DEFAULT, names[which]);
    if (function == NULL) check_skip("no such name");
    for (size_t i = 0; i < TIERS; i++) {
        char *object = NULL;
        size_t size = tier_sizes[i];
        switch (which) {
        case 0:
        case 4:
        case 5: object = ((void *(*)(size_t))function)(size); break;
        case 1: object = ((void *(*)(size_t, size_t))function)(1, size); break;
        case 2: object = ((void *(*)(void *, size_t))function)(malloc(size), size + 1); break;
        case 3: object = ((void *(*)(size_t, size_t))function)(64, size); break;
        }
        CHECK(object != NULL && malloc_usable_size(object) >= size);
        memset(object, 1, size);
        free(object);
    }
}

static void second_free(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    void (*function)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "__libc_free");
    if (function == NULL) check_skip("no such name");
    for (int i = 0; i < 1000; i++) function(malloc((size_t)i * 20));
}

static void usable_bytes_are_usable(size_t size, size_t unused) {
    (void)unused;
    enum { COUNT = 20 };
    char *objects[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        objects[i] = malloc(size);
        pattern_fill(objects[i], malloc_usable_size(objects[i]), i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(pattern_holds(objects[i], malloc_usable_size(objects[i]), i));
        free(objects[i]);
    }
}

void add_insight(void) {
    const size_t sizes[] = {100000, 300000, 3 * MB, 40 * MB};
    for (size_t i = 0; i < 4; i++) add("mallinfo2 counts %zu bytes", counts_what_is_in_use, sizes[i], 0);
    add("mallinfo", old_mallinfo_agrees, 0, 0);
    add("mallinfo2 counts huge objects", huge_objects_are_counted, 0, 0);
    add("malloc_info, %zu objects", info_is_xml, 0, 0);
    add("malloc_info, %zu objects", info_is_xml, 5000, 0);
    add("malloc_info with option %zu", info_knows_no_options, 1, 0);
    add("malloc_info with option %zu", info_knows_no_options, 255, 0);
    add("malloc_stats", stats_go_to_stderr, 0, 0);
    for (size_t size = 2000; size < 4 * MB; size *= 10) add("malloc_trim, %zu bytes", trim_gives_back, size, 0);
    const int options[][2] = {
        {M_MXFAST, 0},   {M_MXFAST, 64},    {M_TRIM_THRESHOLD, 65536}, {M_TOP_PAD, 65536}, {M_MMAP_THRESHOLD, 65536},
        {M_MMAP_MAX, 0}, {M_MMAP_MAX, 100}, {M_CHECK_ACTION, 3},       {M_PERTURB, 0},     {M_ARENA_TEST, 1},
        {M_ARENA_MAX, 1}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        add("mallopt(%zx, %zx)", option_is_known, (size_t)options[i][0], (size_t)options[i][1]);
    for (size_t i = 0; i < 6; i++) add("__libc_ name %zu", second_name, i, 0);
    add("__libc_free", second_free, 0, 0);
    for (size_t size = 1; size < 4 * MB; size = size * 3 + 1)
        add("usable size of %zu bytes", usable_bytes_are_usable, size, 0);
}
