/* kernel.c - the kernel, real or simulated, and what each input starts from. */
#include "kernel.h"
#include "fuzz.h"

#include <jwmalloc.h>
#include <pthread.h>

#include "backend/directory.h"
#include "base/compiler.h"
#include "config/geometry.h"
#include "config/options.h"
#if JW_SECURE
#include "hardened/regions.h"
#endif
#include "platform/platform.h"

static void choose_options(uint8_t kind) {
    static const char *const choices[] = {
        "reclaim_thread:false",
        "reclaim_thread:false,cache_min:0,cache_percent:0",
        "reclaim_thread:false,pool_min:0,pool_percent:0,pool_total:0",
        "reclaim_thread:false,cache_min:0,cache_percent:0,reclaim_start:0,pool_min:0,pool_percent:0,pool_total:0",
#if JW_SECURE
        "reclaim_thread:false,guard_rate:1,quarantine:256",
        "reclaim_thread:false,quarantine:0",
#endif
#if JW_FUZZ_SIM
        "reclaim_thread:true,cache_min:64K,cache_percent:0,reclaim_start:0",
        "reclaim_thread:true,pool_min:0,pool_percent:0,pool_total:0",
#endif
    };
    enum { CHOICES = sizeof choices / sizeof *choices };
    const char *chosen = choices[kind % CHOICES];
    options = default_options;
    options_apply("fuzz", chosen, strlen(chosen));
    if (fuzz_shows()) printf("options %s\n", chosen);
}

#if JW_FUZZ_SIM
#include "platform/sim.h"

/* The allocator's data, for which the build makes sections of their own, and what was in them before the start. */
#define SECTION(name)                                                                                                  \
    extern char __start_##name[] __attribute__((weak, visibility("hidden")));                                          \
    extern char __stop_##name[] __attribute__((weak, visibility("hidden")))
SECTION(jw_zero);
SECTION(jw_data);
SECTION(jw_local); /* not every compiler has it */

enum { DATA_MAX = 64 << 10 };
static struct {
    char *start, *end;
    char first[DATA_MAX];
} data[2];
static size_t reserved_at_rest;
static uint64_t refused_before;

/* Before the allocator's own constructors. */
__attribute__((constructor(101))) static void keep_data(void) {
    data[0].start = __start_jw_data;
    data[0].end = __stop_jw_data;
    data[1].start = __start_jw_local;
    data[1].end = __stop_jw_local;
    for (int i = 0; i < 2; i++) {
        size_t size = (size_t)(data[i].end - data[i].start);
        EXPECT(size <= DATA_MAX);
        if (size > 0) memcpy(data[i].first, data[i].start, size);
    }
}

static void forget_everything(void) {
    sim_reset();
    memset(__start_jw_zero, 0, (size_t)(__stop_jw_zero - __start_jw_zero));
    for (int i = 0; i < 2; i++)
        if (data[i].start != NULL) memcpy(data[i].start, data[i].first, (size_t)(data[i].end - data[i].start));
}

/* The directory's tables stay when their objects have gone: all that the arena may need, from the start. */
static void make_directory(void) {
    size_t page = platform_page_size();
    char *first = platform_reserve(page, page, "test");
    EXPECT(first && directory_make_word(first) && directory_make_word(first + JW_SIM_ARENA - ROOT_SIZE));
    EXPECT(platform_unmap(first, page));
}

/* The tables and one chunk of heaps, with nothing in them. In a thread of its own, whose heap goes with it. */
static void *measure_rest(void *nothing) {
    make_directory();
    jw_free(jw_malloc(1));
    sim_thread_exit();
    reserved_at_rest = sim_reserved() - jw_mallinfo2().arena;
    return nothing;
}

void kernel_begin(uint8_t kind, bool refuses) {
    forget_everything();
    if (reserved_at_rest == 0) {
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, measure_rest, NULL) == 0 && pthread_join(thread, NULL) == 0);
        forget_everything();
    }
    make_directory();
    refused_before = sim_refused();
    if (refuses) kernel_refuse(SIM_ANY, kind & 3);
    jw_free(jw_malloc(1));
    choose_options(kind);
}

uint64_t kernel_refused(void) {
    return sim_refused() - refused_before;
}

bool kernel_is_crowded(void) {
    return sim_reserved() > JW_SIM_ARENA / 4;
}

void kernel_refuse(unsigned kinds, uint8_t successes) {
    /* a thread whose end nobody hears of keeps its heap: that loss is documented, and is not what we look for */
    sim_fail_only(kinds & SIM_ANY & ~SIM_EXIT);
    sim_fail_after(successes);
}

void kernel_ends_refusals(void) {
    sim_fail_only(SIM_ANY);
    sim_fail_after(SIM_NEVER);
}

void kernel_wait(uint32_t milliseconds) {
    sim_advance(milliseconds);
    void (*body)(void) = sim_take_thread();
    if (body != NULL) body();
}

void kernel_thread_ends(void) {
    sim_thread_exit();
}

static size_t reserved(size_t arena) {
    if (arena > 0) return arena;
    return sim_reserved() > reserved_at_rest ? sim_reserved() - reserved_at_rest : 0;
}

#else

void kernel_begin(uint8_t kind, bool refuses) {
    (void)refuses;
    jw_free(jw_malloc(1));
    choose_options(kind);
}

uint64_t kernel_refused(void) {
    return 0;
}

bool kernel_is_crowded(void) {
    return false;
}

void kernel_refuse(unsigned kinds, uint8_t successes) {
    (void)kinds;
    (void)successes;
}

void kernel_ends_refusals(void) {
}

void kernel_wait(uint32_t milliseconds) {
    (void)milliseconds;
}

void kernel_thread_ends(void) {
}

static size_t reserved(size_t arena) {
    return arena;
}

#endif

/* The hardened build keeps the addresses of slabs. */
static void give_up_regions(void) {
#if JW_SECURE
    regions_give_up();
    jw_malloc_trim(0);
#endif
}

bool nothing_is_lost(void) {
    enum { ROUNDS = 3, TRIES = 200 }; /* what was refused is offered again a few at a time */
    size_t left = 1;
    kernel_ends_refusals();
    for (int round = 1; round <= (JW_FUZZ_SIM && !kernel_refused() ? ROUNDS : TRIES) && left > 0; round++) {
        kernel_wait(60000);
        jw_malloc_trim(0);
        give_up_regions();
        struct jw_mallinfo2 memory = jw_mallinfo2();
        EXPECT(memory.hblks == 0 && memory.hblkhd == 0);
        left = reserved(memory.arena);
        if (round > ROUNDS && !JW_FUZZ_SIM)
            usleep(10000); /* the reclamation thread, put off the processor, may hold a range */
    }
    if (fuzz_shows()) printf("left: %zu bytes\n", left);
    return left == 0;
}
