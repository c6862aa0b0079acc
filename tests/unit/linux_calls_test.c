/* linux_calls_test.c - scripts through the Linux layer: each system call, and what follows where the kernel refuses it,
 * must be as the transcript says (calls.h). After a change that is meant:
 *
 *     JW_TRANSCRIPT=tests/unit/linux_calls.txt build/.../unit-linux-calls, and linux_calls_32.txt in a build for i386
 *
 * No script needs rights. As root the thread really loses capabilities in one of them; else it has none to lose. */
#include "calls.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "platform/deferred_unmap.h"
#include "platform/linux_pages.h"
#include "platform/linux_start.h"
#include "platform/misuse.h"
#include "platform/platform.h"

enum { KB = 1024, MB = 1 << 20, PAGE = 4096 };

static void say_place(const char *name, const void *address) {
    say("%s ", name);
    say_address((uintptr_t)address);
    say(", next ");
    say_address(pages_next_end());
    say("\n");
}

static void *reserve(size_t size, size_t alignment) {
    void *got = platform_reserve(size, alignment, "jwmalloc: test");
    say_place("reserved", got);
    return got;
}

static void say_yes(const char *name, bool yes) {
    say("%s: %s, next ", name, yes ? "yes" : "no");
    say_address(pages_next_end());
    say("\n");
}

static void say_end_of_deferred(void) {
    for (unsigned i = 0; i < 2; i++) say_yes("still deferred", unmap_deferred());
}

/* --- Memory ----------------------------------------------------------------------------------------------------- */

static void pages(void) {
    char *block = reserve(16 * PAGE, PAGE);
    reserve(PAGE, 1);
    say_place("readable", platform_reserve_readable(64 * KB, "jwmalloc: readable"));
    if (block == NULL) return;
    memset(block, 1, 16 * PAGE);
    say_yes("discard of 2 pages", platform_discard(block, 2 * PAGE));
    say_yes("discard of no page", platform_discard(block + 1, PAGE));
    say_yes("discard of one page", platform_discard(block + 1, 2 * PAGE));
    say_yes("discard of the inner pages", platform_discard(block + PAGE - 1, 3 * PAGE + 2));
    for (unsigned page = 0; page < 6; page++) say(" %d", block[page * PAGE]);
    say("\n");
    say_yes("close", platform_protect(block, PAGE, false));
    say_yes("open", platform_protect(block, PAGE, true));
    say_yes("is mapped", platform_is_mapped(block, 16 * PAGE));
    platform_huge_pages(block, 16 * PAGE, true);
    platform_huge_pages(block, 16 * PAGE, false);
    say_yes("shrink", platform_resize(block, 16 * PAGE, 12 * PAGE));
    say_yes("grow", platform_resize(block, 12 * PAGE, 16 * PAGE));
    say_yes("unmap nothing", platform_unmap(block, 0));
    say_yes("unmap a part", platform_unmap(block, 4 * PAGE));
    say_yes("is mapped", platform_is_mapped(block, 16 * PAGE));
    say_yes("calls by callers", platform_callers_calls() > 0);
    say("%u\n", (unsigned)platform_callers_calls());
    platform_end_names();
    reserve(PAGE, PAGE);
    say("calls %u\n", (unsigned)platform_system_calls());
}

static void aligned(void) {
    char *first = reserve(4 * MB, 4 * MB), *second = reserve(4 * MB, 4 * MB);
    reserve(MB, 2 * MB);
    say_yes("unmap the first", first && platform_unmap(first, 4 * MB));
    reserve(4 * MB, 4 * MB);
    say_yes("unmap the second", second && platform_unmap(second, 4 * MB));
    say_yes("unmap what is small", platform_unmap(second, MB - PAGE));
    pages_set_next_end(0);
    say_yes("unmap just 1 MB", platform_unmap((void *)(ARENA_TOP - 64 * MB), MB));
    say_yes("below", platform_unmap((void *)(ARENA_TOP - 66 * MB), MB));
    reserve(SIZE_MAX - MB, 4 * MB);
    reserve((size_t)1 << 30 << 1, 4 * MB);
    say_end_of_deferred();
}

/* Where the next mapping may not end. */
static void guesses(void) {
    static const uintptr_t ends[] = {MB, 16 * MB, 16 * MB + PAGE, 20 * MB, 20 * MB + PAGE, 24 * MB - PAGE};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        pages_set_next_end(ends[i]);
        reserve(4 * MB, 4 * MB);
    }
    pages_set_next_end(40 * MB);
    reserve(4 * MB, 64 * MB); /* a multiple is far below */
    char *lower = (char *)(ARENA_TOP - 160 * MB);
    say("at %d\n", platform_reserve_at(lower - PAGE, PAGE, true, "jwmalloc: obstacle"));
    pages_set_next_end((uintptr_t)lower);
    reserve(4 * MB, 4 * MB);
    pages_exclude((uintptr_t)lower - 8 * MB, (uintptr_t)lower);
    pages_set_next_end(0);
    for (int i = -9; i <= 1; i++) say_yes("unmap in or beside the region", platform_unmap(lower + i * MB, MB));
    char *good = (char *)(ARENA_TOP - 8 * MB);
    mmap(good, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    will("mmap", (long)(uintptr_t)good);
    pages_set_next_end(ARENA_TOP - 100 * MB);
    reserve(MB, 4 * MB); /* by chance a good place */
    say_end_of_deferred();
}

static void places(void) {
    char *place = (char *)(ARENA_TOP - 128 * MB);
    for (unsigned writes = 0; writes < 2; writes++) {
        say("at %d\n", platform_reserve_at(place, MB, writes, "jwmalloc: root"));
        say("at %d\n", platform_reserve_at(place, MB, writes, "jwmalloc: root"));
        say_yes("unmap", platform_unmap(place, MB));
    }
    say_end_of_deferred();
}

/* A world whose highest address is `top`. */
static void say_region(uintptr_t top, size_t size, size_t alignment) {
    static unsigned tops;
    top -= tops++ * 64 * KB; /* one that is refused stays */
    mmap((void *)top, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    will("mmap", (long)top);
    uintptr_t region = platform_region(size, alignment);
    say("region below 0x%llx of %uM at 0x%llx\n", (unsigned long long)top, (unsigned)(size >> 20),
        (unsigned long long)region);
}

static void regions(void) {
    const uintptr_t top = sizeof top > 4 ? (uintptr_t)(0x70000000ull << 16) : 0x70000000u;
    static const unsigned parts[] = {9, 8, 5, 4, 3, 2, 1};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) say_region(top, top / parts[i] & ~(size_t)0xfff, MB);
    for (unsigned i = 0; i < 4; i++) say_region(top, 64 * MB, 4 * MB);
    for (unsigned i = 0; i < 3; i++) say_region(0x10000000, 16 * MB << i, MB); /* a small world: nothing is apart */
    say_place("apart", platform_reserve_apart(MB, "jwmalloc: apart"));
    say_end_of_deferred();
}

static void apart(void) {
    say_place("too early", platform_reserve_apart(MB, "jwmalloc: apart"));
    if (sizeof(long) < 8) return; /* there is less room */
    say_region((uintptr_t)(0x70000000ull << 16), (size_t)64 << 30, 4 * MB);
    for (unsigned i = 0; i < 3; i++) say_place("apart", platform_reserve_apart(MB, "jwmalloc: apart"));
    say_place("apart", platform_reserve_apart((size_t)900 << 20, "jwmalloc: apart"));
    say_place("too much", platform_reserve_apart((size_t)200 << 20, "jwmalloc: apart"));
    say_place("no more", platform_reserve_apart(MB, "jwmalloc: apart"));
    say_end_of_deferred();
}

static void say_move(void *from, void *to, size_t size, size_t room) {
    say("move %d\n", platform_move(from, to, size, room));
}

static void moves(void) {
    char *from = reserve(MB, PAGE), *to = reserve(2 * MB, PAGE);
    if (from == NULL || to == NULL) return;
    memset(from, 7, MB);
    will("mremap", -EFAULT);
    say_move(from, to, MB, 2 * MB);
    say_move(from, to, MB, 2 * MB);
    say(" %d %d %d\n", to[0], to[MB - 1], to[MB]);
    for (unsigned i = 0; i < 2; i++) say_move(from, to, MB, 2 * MB); /* there is nothing any more */
    char *fresh = reserve(MB, PAGE), *lost = (char *)(ARENA_TOP - 120 * MB);
    if (fresh) say_move(fresh, to + MB, MB, MB);
    will("mremap", -EFAULT);
    will("mmap", -ENOMEM); /* the target's place */
    if (fresh) say_move(fresh, to, MB, MB);
    will("mremap", -EFAULT);
    will("mmap", -ENOMEM);
    will("futex", -EAGAIN);
    if (fresh) say_move(fresh, to, MB, MB);
    will("mremap", -EFAULT);
    will("mmap", -ENOMEM);
    for (unsigned i = 0; i < 16; i++) will("futex", -EAGAIN);
    if (fresh) say_move(fresh, to, MB, MB);
    will("mremap", -EFAULT);
    mmap(lost, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    will("mmap", (long)(uintptr_t)lost); /* what it got instead is given back */
    if (fresh) say_move(fresh, to, MB, MB);
    say_end_of_deferred();
}

static void spared(void) {
    char *block = reserve(4 * PAGE, PAGE);
    if (block == NULL) return;
    say_yes("unmap", platform_unmap(block, PAGE));
    platform_spare_callers(SPARED);
    say_yes("unmap", platform_unmap(block + PAGE, PAGE));
    say_yes("discard", platform_discard(block + PAGE, PAGE));
    platform_huge_pages(block + PAGE, PAGE, true);
    /* the last one: in a fork's child, which has not the thread that lifted it */
    static const enum platform_spare acts[] = {SPARE_LIFTED,  SPARE_LIFTED, SPARE_LOWERED,
                                               SPARE_LOWERED, SPARE_LIFTED, SPARED};
    for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++) {
        platform_spare_callers(acts[i]);
        say_yes("discard", platform_discard(block + PAGE, PAGE));
    }
    pages_note_thread((uintptr_t)__builtin_frame_address(0) + 4096); /* as if this were the reclamation thread */
    say_yes("unmap", platform_unmap(block + PAGE, PAGE));
    say_yes("discard", platform_discard(block + 2 * PAGE, PAGE));
    pages_note_thread((uintptr_t)__builtin_frame_address(0) + 40960); /* a frame that is too far away */
    say_yes("discard", platform_discard(block + 2 * PAGE, PAGE));
    pages_note_thread((uintptr_t)__builtin_frame_address(0) - 40960);
    say_yes("discard", platform_discard(block + 2 * PAGE, PAGE));
    say("%u\n", (unsigned)platform_callers_calls());
}

/* --- The process ------------------------------------------------------------------------------------------------ */

static void say_piece(size_t size) {
    char *piece = platform_forgotten_by_fork(size);
    say("piece of %u ", (unsigned)size);
    say_address((uintptr_t)piece);
    say("\n");
}

static void starts(void) {
    say_yes("vfork before", platform_in_borrowed_memory());
    platform_start();
    static const size_t sizes[] = {1, 8, 9, 4000, 1, PAGE, PAGE - 100};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) say_piece(sizes[i]);
    say_yes("vfork", platform_in_borrowed_memory());
    say_yes("vfork", platform_in_borrowed_memory());
    will("getpid", 12345);
    say_yes("vfork's child", platform_in_borrowed_memory());
    process_forget();
    will("getpid", 12345);
    say_yes("fork's child", platform_in_borrowed_memory());
    say_yes("once more", platform_in_borrowed_memory());
    for (unsigned i = 0; i < 3; i++) say("place %llx\n", (unsigned long long)platform_random_place());
    say("random %llx\n", (unsigned long long)platform_random());
    bool none = platform_thread_lives(0x3ffffff0), own = platform_thread_lives((uint32_t)script_thread);
    say("lives %d %d\n", own, none);
    say_place("discard", platform_reserve(PAGE, PAGE, "jwmalloc: last"));
}

/* An emulator whose madvise does nothing. */
static void vain_starts(void) {
    will("madvise", 0);
    platform_start();
    say_piece(8);
    char *block = reserve(PAGE, PAGE);
    if (block != NULL) say_yes("discard", platform_discard(block, PAGE));
}

static void say_rights(const char *name) {
    platform_read_rights();
    struct rights rights = rights_at_start();
    say("%s: allowed %d, any %d, root %d, real-time %d, no thread %d\n", name, platform_allows_thread(), rights.any,
        rights.of_root, rights.realtime, process_refuses_thread());
}

static void users_are(unsigned user, unsigned effective, unsigned group, unsigned effective_group, unsigned secure) {
    auxiliary_is(AT_UID, user);
    auxiliary_is(AT_EUID, effective);
    auxiliary_is(AT_GID, group);
    auxiliary_is(AT_EGID, effective_group);
    auxiliary_is(AT_SECURE, secure);
}

static void rights(void) {
    char *preloads[] = {"A=1", "LD_PRELOAD=/usr/lib/libjwmalloc.so", NULL};
    char *valgrinds[] = {"LD_PRELOADED=/vgpreload_", "LD_PRELOAD=/usr/lib/vgpreload_core.so:x", NULL};
    char *none[] = {NULL};
    environ = none;
    users_are(0, 0, 0, 0, 0);
    say_rights("root");
    users_are(7, 0, 7, 7, 0);
    say_rights("effective root");
    users_are(0, 7, 7, 7, 0);
    say_rights("real root");
    users_are(7, 8, 7, 7, 0);
    say_rights("another user");
    users_are(7, 7, 7, 8, 0);
    say_rights("another group");
    users_are(7, 7, 7, 7, 1);
    say_rights("secure");
    users_are(7, 7, 7, 7, 0);
    say_rights("no status");
    has_file("/proc/self/status", "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0\n");
    say_rights("ordinary");
    has_file("/proc/self/status", "CapInh:\t0\nCapPrm:\t0000000000000400\nCapEff:\t0\n");
    say_rights("capabilities");
    has_file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000400\n");
    say_rights("no line");
    has_file("/proc/self/status", "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0\n");
    world.limits[RLIMIT_RTPRIO] = 2;
    environ = preloads;
    say_rights("real-time");
    environ = valgrinds;
    say_rights("Valgrind");
    environ = NULL;
    say_rights("no environment");
    reserve(PAGE, PAGE); /* has no name any more */
}

static void limits(void) {
    static const uint64_t most[][2] = {{UINT64_MAX, UINT64_MAX}, {5 * MB, UINT64_MAX}, {UINT64_MAX, 7 * MB},
                                       {5 * MB, 7 * MB},         {8 * MB, 7 * MB},     {0, 1}};
    for (unsigned i = 0; i < sizeof most / sizeof *most; i++) {
        world.limits[RLIMIT_AS] = most[i][0];
        world.limits[RLIMIT_DATA] = most[i][1];
        size_t limit = platform_address_limit();
        say("limit %llu\n", limit == SIZE_MAX ? 0 : (unsigned long long)limit + 1);
    }
    say("page %u\n", (unsigned)platform_page_size());
    unsigned seconds = (unsigned)platform_seconds();
    say("process %d, seconds %u\n", platform_process_id() == (uint32_t)own_process, seconds);
    auxiliary_is(AT_EXECFN, 0);
    say("program \"%s\"\n", platform_program());
    auxiliary_is(AT_EXECFN, (unsigned long)(uintptr_t) "/bin/x");
    say("program \"%s\"\n", platform_program());
    for (unsigned secure = 0; secure < 2; secure++) {
        auxiliary_is(AT_SECURE, secure);
        say_yes("privileged", platform_is_privileged());
    }
    uint64_t before = platform_milliseconds(), exact = platform_microseconds();
    usleep(30000);
    uint64_t after = platform_milliseconds(), exact_after = platform_microseconds();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(after - before >= 20 && after - before < 15000 && exact_after - exact >= 30000);
    CHECK(exact_after / 1000000 - (uint64_t)now.tv_sec + 2 <= 4 && after / 1000 - (uint64_t)now.tv_sec + 2 <= 4);
}

static void page_unknown(void) {
    auxiliary_is(AT_PAGESZ, 0);
    say("page %u\n", (unsigned)platform_page_size());
    auxiliary_is(AT_PAGESZ, 16384);
    say("page %u\n", (unsigned)platform_page_size());
}

static void page_larger(void) {
    auxiliary_is(AT_PAGESZ, 16384);
    say("page %u\n", (unsigned)platform_page_size());
}

static void say_clocks(void) {
    unsigned long long microseconds = platform_microseconds(), milliseconds = platform_milliseconds();
    say("%llu ms, %llu us\n", milliseconds, microseconds);
}

static void random_numbers(void) {
    auxiliary_is(AT_RANDOM, 0);
    uint64_t numbers[6], bytes[2] = {0x0123456789abcdef, 5};
    world.time = (struct timespec){1000, 999999999};
    for (unsigned i = 0; i < 4; i++) {
        will("getrandom", i == 3 ? 7 : -EAGAIN);
        if (i == 1) auxiliary_is(AT_RANDOM, (unsigned long)(uintptr_t)bytes);
        if (i == 2) world.time.tv_nsec = 0;
        say("without the kernel %llx\n", (unsigned long long)platform_random());
    }
    say_clocks();
    world.time.tv_nsec = 999999999;
    say_clocks();
    world.time.tv_sec = 0;
    auxiliary_is(AT_RANDOM, 0);
    for (unsigned i = 0; i < 6; i++) {
        if (i >= 2) will("getrandom", i == 2 ? 4 : -EAGAIN);
        numbers[i] = platform_random();
        for (unsigned j = 0; j < i; j++) CHECK(numbers[i] != numbers[j]);
        if (i < 2) say("random %llx\n", (unsigned long long)numbers[i]);
    }
}

static void borrowed(void) {
    platform_start();
    platform_read_rights();
    fflush(NULL);
    pid_t child = vfork();
    if (child == 0) _exit(platform_in_borrowed_memory() ? 5 : 6);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    say("a child of vfork: %d\n", WEXITSTATUS(status));
    say_yes("its parent", platform_in_borrowed_memory());
}

#include "linux_calls_files.h"
#include "linux_calls_thread.h"

static void calls_are_as_they_were(void **state) {
    (void)state;
#if (!defined __x86_64__ && !defined __i386__) || !defined __GLIBC__
    check_skip("there is no transcript of this processor and C library");
#else
    if (strverscmp(gnu_get_libc_version(), "2.34") < 0) check_skip("an older glibc has another call for threads");
#endif
    if (sysconf(_SC_PAGESIZE) != PAGE) check_skip("the transcript has pages of 4 KB");
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(calls != MAP_FAILED);
    script("Pages", pages);
    script("Aligned mappings", aligned);
    script("Guesses", guesses);
    script("Chosen places", places);
    script("Regions", regions);
    script("Mappings apart", apart);
    script("Moves", moves);
    script("Spared callers", spared);
    script("The start", starts);
    script("A start where madvise does nothing", vain_starts);
    script("Rights", rights);
    script("Limits", limits);
    script("A page of unknown size", page_unknown);
    script("A page of 16 KB", page_larger);
    script("Random numbers", random_numbers);
    script("A child of vfork", borrowed);
    file_scripts();
    thread_scripts();
    calls_compare(sizeof(void *) < 8 ? JW_TRANSCRIPT_FILES "_32.txt" : JW_TRANSCRIPT_FILES ".txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_as_they_were)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
