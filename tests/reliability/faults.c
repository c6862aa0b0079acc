/* faults.c - system calls of the allocator fail, and nothing is lost.
 *
 *   faults sites               all calls of one place in the code, place after place, with each error
 *   faults calls [STRIDE]      a single call: the first, the second, ... of what the work makes
 *   faults random [ROUNDS]     any, by chance
 *
 * ENOMEM, EPERM and EAGAIN from mmap, mprotect, munmap, madvise, mremap, clone, futex and prctl. Meanwhile every byte
 * of every object is kept; NULL, with ENOMEM, comes only where mmap or mprotect has been refused. When the faults end,
 * so do their effects: all sizes can be had, a reclamation thread runs, and with everything freed memory is back where
 * it was.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>

#include "entry_points.h"
#include "process/tiers.h"
#include "supervisor.h"

#define MB ((size_t)1 << 20)
enum { COUNT = 300, OPERATIONS = 900 };

static const char *mode = "sites";
static uint32_t argument;
static uint64_t nulls, runs;
static size_t resident_before, addresses_before, resident, addresses;

static bool is_call(uint32_t site, const char *name) {
    return strcmp(call_name(sites[site].call), name) == 0;
}

/* Whatever is refused, memory already there goes on to serve; only new memory may be missing. */
static bool may_be_refused(void) {
    for (uint32_t i = 0; i < site_count; i++)
        if (sites[i].refused > 0 && (is_call(i, "mmap") || is_call(i, "mprotect"))) return true;
    return false;
}

static void check_refusal(int error) {
    CHECK(error == ENOMEM);
    CHECK(may_be_refused());
    nulls++;
}

struct object {
    char *bytes;
    size_t size;
};

static size_t some_size(uint64_t *random) {
    uint64_t kind = random_below(random, 100);
    if (kind < 50) return random_below(random, 2000) + 1;
    if (kind < 75) return 2000 + random_below(random, 12000);
    if (kind < 96) return 16000 + random_below(random, 200000);
    return kind < 98 ? 3 * MB : 5 * MB + random_below(random, 4 * MB);
}

static void renew(struct object *object, size_t number, uint64_t *random) {
    bool zeroed = random_below(random, 4) == 0;
    object->size = some_size(random);
    errno = 0;
    object->bytes = zeroed ? calloc(1, object->size) : malloc(object->size);
    if (object->bytes == NULL) {
        check_refusal(errno);
        return;
    }
    if (zeroed) CHECK(bytes_are_zero(object->bytes, object->size));
    pattern_fill(object->bytes, object->size, number);
}

static void resize(struct object *object, size_t number, uint64_t *random) {
    size_t size = some_size(random);
    if (object->size > 4 * MB) size = random_below(random, 2) == 0 ? object->size + 2 * MB : 4 * MB + 5000;
    errno = 0;
    char *resized = realloc(object->bytes, size);
    if (resized == NULL) {
        check_refusal(errno);
        return;
    }
    CHECK(pattern_holds(resized, size < object->size ? size : object->size, number));
    *object = (struct object){resized, size};
    pattern_fill(resized, size, number);
}

static void end(struct object *object, size_t number) {
    if (object->bytes != NULL) CHECK(pattern_holds(object->bytes, object->size, number));
    free(object->bytes);
    object->bytes = NULL;
}

static void use_heap(uint64_t seed) {
    static struct object objects[COUNT];
    for (size_t i = 0; i < OPERATIONS; i++) {
        size_t number = random_below(&seed, COUNT);
        struct object *object = &objects[number];
        if (object->bytes == NULL) renew(object, number, &seed);
        else if (random_below(&seed, 4) == 0) resize(object, number, &seed);
        else end(object, number);
    }
    for (size_t i = 0; i < COUNT; i++) end(&objects[i], i);
}

static void *use_heap_in_thread(void *seed) {
    for (int i = 0; i < 50; i++) {
        void *object = malloc(100 + (size_t)(uintptr_t)seed % 1000);
        if (object == NULL) check_refusal(errno);
        free(object);
    }
    return NULL;
}

/* A thread comes and goes, so that heaps and the reclamation thread are made, abandoned and taken. */
static void use_allocator(uint64_t seed) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_heap_in_thread, (void *)(uintptr_t)seed) == 0);
    use_heap(seed);
    CHECK(pthread_join(thread, NULL) == 0);
    malloc_trim(0);
}

/* Told by the number of threads, beside main's and ours: where prctl was refused it has no name. */
static bool reclamation_thread_runs(void) {
    unsigned threads = 0;
    DIR *directory = opendir("/proc/self/task");
    CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) threads += entry->d_name[0] != '.';
    closedir(directory);
    return threads > 2;
}

/* Freeing threads try again to start it. One look decides: it may have seen a thread that was joined, which the kernel
 * counts for a moment more, and which a second look would miss. */
static void check_reclamation_thread(void) {
    char *kept[20];
    bool runs = reclamation_thread_runs();
    for (int tries = 0; tries < 400 && !runs; tries++) {
        for (size_t i = 0; i < 20; i++) memset(kept[i] = malloc(20000), 1, 20000);
        for (size_t i = 0; i < 20; i++) free(kept[i]);
        for (size_t i = 0; i < 1100; i++) free(malloc(20000));
        usleep(1000); /* the kernel starts the real thread when it likes */
        runs = reclamation_thread_runs();
    }
    CHECK(runs);
}

/* The one thing that may be lost: where mremap is refused for the first time, nobody can say whether the kernel had
 * cleared its target before (platform_move). */
enum { LOST_ADDRESSES = 28 << 20 }; /* the largest object there is here, and a root */

static struct mallinfo2 now;

static bool is_back(void) {
    now = mallinfo2();
    resident = resident_bytes();
    addresses = proc_bytes("/proc/self/status", "VmSize");
    return resident <= resident_before + MB / 2 && addresses <= addresses_before + LOST_ADDRESSES &&
           now.arena <= (size_t)4 * MB && now.hblks == 0;
}

/* Memory and addresses are where they were, and no mapping is left but a root. */
static void check_recovery(void) {
    plan.kind = ALL_SUCCEED;
    for (uint32_t i = 0; i < site_count; i++) sites[i].refused = 0;
    tiers_work(runs);
    check_reclamation_thread();
    bool back = false;
    /* The reclamation thread may just hold a range, for as long as it gets no processor: up to 20 s, as AWAIT. */
    for (int tries = 0; tries < 2000 && !back; tries++) {
        if (tries > 0) usleep(10000);
        malloc_trim(0);
        back = is_back();
    }
    if (!back)
        printf("resident %zu KB, before %zu KB; addresses %zu KB, before %zu KB; arena %zu KB, huge %zu\n",
               resident >> 10, resident_before >> 10, addresses >> 10, addresses_before >> 10, now.arena >> 10,
               now.hblks);
    CHECK(back);
}

static void run_with(struct plan faults) {
    if (faults.kind == ONE_CALL_FAILS) faults.which += calls_seen;
    plan = faults;
    use_allocator(++runs);
    check_recovery();
}

static void fail_sites(void) {
    static const int errors[] = {ENOMEM, EPERM, EAGAIN};
    for (uint32_t site = 0; site < site_count; site++)
        for (unsigned i = 0; i < 3; i++) run_with((struct plan){ONE_SITE_FAILS, site, errors[i]});
}

static void fail_calls(void) {
    uint32_t before = calls_seen, stride = argument != 0 ? argument : 7;
    use_allocator(0);
    uint32_t calls = calls_seen - before;
    for (uint32_t call = 1; call <= calls; call += stride) run_with((struct plan){ONE_CALL_FAILS, call, 0});
}

static void fail_at_random(void) {
    static const uint32_t odds[] = {1, 2, 5, 20, 100};
    uint32_t rounds = argument != 0 ? argument : 20;
    for (uint32_t i = 0; i < rounds; i++) run_with((struct plan){SOME_FAIL, odds[i % 5], 0});
}

static void *work(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < 5; i++) use_allocator(i);
    check_reclamation_thread();
    for (int i = 0; i < 3; i++) malloc_trim(0);
    resident_bytes(); /* streams need memory once */
    resident_before = resident_bytes();
    addresses_before = proc_bytes("/proc/self/status", "VmSize");
    if (strcmp(mode, "sites") == 0) fail_sites();
    if (strcmp(mode, "calls") == 0) fail_calls();
    if (strcmp(mode, "random") == 0) fail_at_random();
    CHECK(runs > 0);
    return NULL;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!under_jwmalloc()) check_skip("the C library's malloc has its calls elsewhere");
    if (count > 1) mode = arguments[1];
    if (count > 2) argument = (uint32_t)atoi(arguments[2]);
    supervise(work);
    printf("%s: %u sites, %llu runs, %u system calls, %u refused, %llu times NULL\n", mode, site_count,
           (unsigned long long)runs, calls_seen, calls_refused, (unsigned long long)nulls);
    printf("%zd KB of address space more than before\n",
           (ssize_t)(proc_bytes("/proc/self/status", "VmSize") - addresses_before) / 1024);
    return 0;
}
