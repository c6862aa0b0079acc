/* cliffs.c CASE - where one kind of object, a refusing kernel or an impossible wish could take all memory from others.
 *
 *   huge         20,000 objects above 4 MB, and small ones beside them; frees in another order
 *   large        100 GB of objects of 1 MB, and small ones beside them
 *   terabyte     1 TB of objects of 64 MB; beside them 32 GB of 4 and 12 KB, 4 GB of 50 KB, and small ones
 *   window       66 GB of 12,000 B, more than the window has room for, and other sizes behind it
 *   impossible   a size or an alignment that cannot be had takes nothing from what is cached
 *   lock         mlockall, also under a limit of locked memory: what is locked is what is used, and little more
 *   locked       what is freed of locked memory goes back in whole roots: by malloc_trim; locked_rounds: by rounds
 *   data         RLIMIT_DATA: nearly all of it can be had
 *   space        RLIMIT_AS that the program sets itself, from 100 MB on: so is that
 *   near         at 30 to 500 MB of it, at most 4 MB less than with glibc; at 1000 MB, 5
 *   again        RLIMIT_DATA, reached again and again: what is free can be had as one piece (guard pages included)
 *   pages        roots get no transparent huge pages unless they are wanted: what was given back stays so
 *   small        what a small program is charged, in each way, is at most 4 MB above glibc's
 *   mappings     the program itself has nearly all mappings: other objects, and a file, can be had all the same
 *   addresses    the program itself has all addresses that are left in pieces of 4 MB: what can be had is freed again
 *   madvise      a kernel that refuses madvise, and a limit of the address space: what is free is one piece again
 *   vain         the same, but nothing is one piece: a malloc that fails again does not offer all of it again
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

enum { MB = 1 << 20 };

struct link {
    struct link *next;
};

/* Kept until the end of the program. */
static bool had(size_t size) {
    char *object = malloc(size);
    if (object != NULL) object[size - 1] = 1;
    return object != NULL;
}

static void many(size_t number, size_t size, size_t step) {
    char **objects = malloc(number * sizeof *objects);
    CHECK(objects != NULL);
    for (size_t i = 0; i < number; i++) {
        CHECK((objects[i] = malloc(size + i % 7 * step)) != NULL);
        objects[i][0] = objects[i][size - 1] = (char)i;
    }
    for (size_t i = 0; i < 1000; i++) { /* for all tiers there is room for more than what they have by chance */
        CHECK(had(100) && had(5000) && had(50000));
    }
    for (size_t i = 0; i < number; i++) {
        size_t at = i * 7919 % number; /* prime to both numbers */
        CHECK(objects[at][0] == (char)at && objects[at][size - 1] == (char)at);
        CHECK(malloc_usable_size(objects[at]) >= size + at % 7 * step);
        free(objects[at]);
    }
    free(objects);
}

#if SIZE_MAX > UINT32_MAX
/* Kept, and not touched. */
static void have(size_t bytes, size_t size) {
    for (size_t had_bytes = 0; had_bytes < bytes; had_bytes += size) {
        char *volatile object = malloc(size);
        if (object == NULL) dprintf(2, "%zu MB of objects of %zu bytes\n", had_bytes / MB, size);
        CHECK(object != NULL);
    }
}

static void terabyte(void) {
    const size_t tera = (size_t)1 << 40, all = tera + tera / 8;
    void *room = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) check_skip("the kernel does not map so much");
    CHECK(munmap(room, all) == 0);
    have(tera, (size_t)64 * MB);
    have((size_t)16 << 30, 12000);
    have((size_t)16 << 30, 4096);
    have(64 * MB, 100);
    have((size_t)4 << 30, 50000);
}

/* All calls, those behind the end of the window too, look at little: else this takes hours. */
static void window(void) {
    void *kept = malloc(100);
    have((size_t)66 << 30, 12000);
    have((size_t)1 << 30, 4096);
    have((size_t)1 << 30, 20000);
    CHECK(kept != NULL && malloc_usable_size(kept) >= 100);
    free(kept);
    for (int i = 0; i < 1000; i++)
        CHECK((kept = malloc(12000)) != NULL && malloc_usable_size(kept) >= 12000 &&
              (kept = realloc(kept, 13000)) != NULL && (free(kept), true));
}
#else
static void window(void) {
    check_skip("only for 64-bit processors");
}

static void terabyte(void) {
    check_skip("only for 64-bit processors");
}
#endif

static size_t address_space(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    CHECK(file != NULL && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void impossible(void) {
    enum { OBJECTS = 1000, SIZE = 6000 };
    static char *objects[OBJECTS];
    void *volatile kept = malloc((size_t)512 * MB); /* in use: no purge gives it back */
    CHECK(kept != NULL);
    for (int i = 0; i < OBJECTS; i++) {
        CHECK((objects[i] = malloc(SIZE)) != NULL);
        memset(objects[i], 1, SIZE);
    }
    for (int i = 0; i < OBJECTS; i++) free(objects[i]);
    size_t before = resident_bytes();
    CHECK(before > OBJECTS * SIZE); /* it waits for half a second at least */
    struct rlimit limit = {address_space() + 256 * MB, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    static const size_t sizes[] = {(size_t)1 << 30, IMPOSSIBLE_SIZE, SIZE_MAX / 2 - 64, (size_t)3 << 29,
                                   (size_t)400 * MB};
    static const struct {
        size_t alignment, size;
    } aligned[] = {{(size_t)1 << 30, 64}, {SIZE_MAX / 8 + 1, 64}, {SIZE_MAX / 2 + 1, 1}, {64, (size_t)1 << 30}};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        errno = 0;
        CHECK(malloc(sizes[i]) == NULL && errno == ENOMEM);
    }
    CHECK(resident_bytes() + MB > before);
    for (unsigned i = 0; i < sizeof aligned / sizeof *aligned; i++) {
        errno = 0;
        CHECK(aligned_alloc(aligned[i].alignment, aligned[i].size) == NULL && errno == ENOMEM);
    }
    CHECK(resident_bytes() + MB > before);
    free(malloc(5 * MB)); /* its addresses wait */
    size_t addresses = address_space();
    CHECK(malloc(IMPOSSIBLE_SIZE) == NULL && address_space() == addresses);
}

static void refuse_madvise(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        check_skip("the kernel takes no seccomp filter here");
}

static void fill_and_free(size_t size) {
    struct link *first = NULL, *next;
    for (struct link *link; (link = malloc(size)) != NULL; first = link) link->next = first;
    for (; first != NULL; first = next) {
        next = first->next;
        free(first);
    }
}

/* Pages that madvise does not take go with their roots; malloc_trim tells. */
static void trim_tells(size_t size) {
    enum { OBJECTS = 64 };
    static char *objects[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) memset(objects[i] = malloc(size), 1, size);
    for (unsigned i = 0; i < OBJECTS; i++) free(objects[i]);
    size_t before = resident_bytes();
    int given = malloc_trim(0);
    CHECK(given == 1 && resident_bytes() + OBJECTS * size / 2 < before);
}

static void reach_again(int resource, size_t now) {
    static const size_t sizes[] = {MB, 65536, 9000, 4096, 1024, 200, 64, 16};
    struct rlimit limit = {now + 256 * MB, RLIM_INFINITY};
    CHECK(setrlimit(resource, &limit) == 0);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill_and_free(sizes[i]);
        void *object = malloc(64 * MB);
        CHECK(object != NULL);
        free(object);
    }
}

extern int jw_ctl(const char *, void *, size_t *, const void *, size_t) __attribute__((weak));

static size_t calls_to_give_back(void) {
    size_t calls = 0, size = sizeof calls;
    CHECK(jw_ctl != NULL && jw_ctl("stats.callers_calls", &calls, &size, NULL, 0) == 0);
    return calls;
}

/* Each fourth object stays, so that no root is whole. malloc_trim offers each free range once, which the kernel
 * refuses: this is what one purge costs here. Each object has a whole page. */
static void vain(void) {
    enum { FAILURES = 200 };
    size_t size = sysconf(_SC_PAGESIZE) > 4096 ? 2 * (size_t)sysconf(_SC_PAGESIZE) : 9000, objects = 0;
    struct link *kept = NULL, *freed = NULL, *next;
    struct rlimit limit = {address_space() + 256 * MB, RLIM_INFINITY};
    refuse_madvise();
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    for (; (next = malloc(size)) != NULL; objects++) {
        struct link **list = objects % 4 == 0 ? &kept : &freed;
        next->next = *list;
        *list = next;
    }
    for (; freed != NULL; freed = next) {
        next = freed->next;
        free(freed);
    }
    while (malloc(MB) != NULL) continue; /* what happens to be one piece */
    size_t before = calls_to_give_back();
    malloc_trim(0);
    size_t purge = calls_to_give_back() - before;
    for (int i = 0; i < FAILURES; i++) CHECK(malloc(MB) == NULL);
    size_t failures = calls_to_give_back() - before - purge;
    dprintf(2, "%zu objects, refused calls: %zu of a purge, %zu of %d mallocs that fail\n", objects, purge, failures,
            FAILURES);
    CHECK(purge > objects / 30 && failures / FAILURES < purge / 4);
}

/* Of /proc/self/status, in bytes. */
static size_t status(const char *name) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    size_t kilobytes = SIZE_MAX;
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = (size_t)atol(line + strlen(name) + 1);
    fclose(file);
    CHECK(kilobytes != SIZE_MAX);
    return kilobytes << 10;
}

/* A root, its records and what the program itself has. mlockall asks the limit of locked memory about all that is
 * mapped, and an overcommitting kernel is not asked about what is charged. */
static void lock(void) {
    struct rlimit limit;
    CHECK(status("VmData") < 12 * MB && status("VmSize") < 24 * MB);
    CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    if (getuid() != 0 && status("VmSize") > limit.rlim_cur) check_skip("little may be locked here");
    CHECK(mlockall(MCL_CURRENT) == 0);
    CHECK(status("VmLck") < 24 * MB && resident_bytes() < 16 * MB);
}

/* What locked memory held goes back with its addresses: the kernel takes no pages of it, only whole roots. */
static void locked(void) {
    static const size_t sizes[] = {100000, 3000};
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) check_skip("nothing may be locked here");
    size_t before = status("VmSize");
    for (unsigned i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        struct link *first = NULL, *next;
        for (size_t had = 0; had < 64 * MB; had += sizes[i / 2], first = next) {
            CHECK((next = malloc(sizes[i / 2])) != NULL);
            next->next = first;
        }
        for (; first != NULL; first = next) {
            next = first->next;
            free(first);
        }
        malloc_trim(0);
        CHECK(status("VmSize") < before + 24 * MB);
    }
}

static void *asleep(void *unused) {
    pause();
    return unused;
}

/* The same by rounds: of the reclamation thread, or of a thread that frees. */
static void locked_rounds(void) {
    enum { OBJECTS = 64 * MB / 20000, FEW = OBJECTS / 20 };
    static char *objects[OBJECTS];
    pthread_t thread;
    if (mlockall(MCL_CURRENT) != 0) check_skip("nothing may be locked here");
    CHECK(pthread_create(&thread, NULL, asleep, NULL) == 0 && mlockall(MCL_FUTURE) == 0);
    for (unsigned i = 0; i < OBJECTS; i++) CHECK((objects[i] = malloc(20000)) != NULL);
    size_t full = resident_bytes();
    for (unsigned i = 0; i < OBJECTS; i++) free(objects[i]);
    for (int tenths = 0; tenths < 100 && resident_bytes() + 40 * MB > full; tenths++) {
        for (unsigned i = 0; i < FEW; i++) CHECK((objects[i] = malloc(20000)) != NULL);
        for (unsigned i = 0; i < FEW; i++) free(objects[i]);
        usleep(100000);
    }
    size_t left = resident_bytes();
    if (full < 64 * MB || left + 40 * MB > full) dprintf(2, "%zu of %zu MB\n", left / MB, full / MB);
    CHECK(full >= 64 * MB && left + 40 * MB <= full);
}

/* What the kernel charges where it does not overcommit. */
static size_t private_writable(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512], rights[5];
    unsigned long from, to;
    size_t bytes = 0;
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && rights[1] == 'w' && rights[3] == 'p')
            bytes += to - from;
    fclose(file);
    return bytes;
}

enum { CHARGES = 5 };
static const char *const charge_names[CHARGES] = {"addresses", "data", "private writable", "locked", "resident"};

static void tell_charges(void) {
    size_t charges[CHARGES] = {status("VmSize"), status("VmData"), private_writable()};
    if (mlockall(MCL_CURRENT) == 0) {
        charges[3] = status("VmLck");
        charges[4] = status("VmRSS");
    }
    CHECK(write(STDOUT_FILENO, charges, sizeof charges) == sizeof charges);
}

/* This program again, on our malloc or on glibc's. */
static void ask(char **program, bool preload, size_t *figures, size_t size) {
    int ends[2], status = 1;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (!preload) unsetenv("LD_PRELOAD");
        dup2(ends[1], STDOUT_FILENO);
        execv("/proc/self/exe", program);
        _exit(1);
    }
    CHECK(read(ends[0], figures, size) == (ssize_t)size);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void small(char *program) {
    char *again[] = {program, "charges", NULL};
    size_t ours[CHARGES], theirs[CHARGES];
    if (getenv("LD_PRELOAD") == NULL) check_skip("the system's malloc is not in this program");
    ask(again, true, ours, sizeof ours);
    ask(again, false, theirs, sizeof theirs);
    for (int i = 0; i < CHARGES; i++) {
        dprintf(2, "%s: %zu KB, glibc %zu KB\n", charge_names[i], ours[i] >> 10, theirs[i] >> 10);
        CHECK(ours[i] <= theirs[i] + 4 * MB);
    }
}

static size_t fill(size_t size) {
    size_t bytes = 0;
    for (char *object; bytes < (size_t)2000 * MB && (object = malloc(size)) != NULL; bytes += size) object[0] = 1;
    return bytes;
}

/* A thirty-second at most is not to be had, and 8 MB: roots, and the program itself. */
static void within(int resource, size_t megabytes, size_t size) {
    struct rlimit limit = {megabytes * MB, megabytes * MB};
    CHECK(setrlimit(resource, &limit) == 0);
    size_t bytes = fill(size);
    if (bytes < (megabytes - megabytes / 32 - 8) * MB) dprintf(2, "%zu of %zu MB\n", bytes / MB, megabytes);
    CHECK(bytes >= (megabytes - megabytes / 32 - 8) * MB);
}

/* What can be had below RLIMIT_AS is at most 4 MB less than with glibc, at 1000 MB 5: the places of the first ranges
 * are random, so that some objects of 64 KB more or fewer fit. Of larger pages a thirty-second of the limit less, as
 * records are then mapped at once. */
static void near(char *program) {
    static char *const limits[] = {"30", "50", "100", "200", "400", "500", "1000"}, *const sizes[] = {"4096", "65536"};
    if (getenv("LD_PRELOAD") == NULL) check_skip("the system's malloc is not in this program");
    for (int i = 0; i < 14; i++) {
        char *again[] = {program, "room", limits[i / 2], sizes[i % 2], NULL};
        size_t ours, theirs;
        ask(again, true, &ours, sizeof ours);
        ask(again, false, &theirs, sizeof theirs);
        dprintf(2, "%s MB, %s B: %zu KB, glibc %zu KB\n", again[2], again[3], ours >> 10, theirs >> 10);
        size_t megabytes = (size_t)atoi(again[2]), records = sysconf(_SC_PAGESIZE) > 4096 ? megabytes * MB / 32 : 0;
        CHECK(ours + (4 + megabytes / 1000) * MB + records >= theirs);
    }
}

static void tell_room(size_t megabytes, size_t size) {
    struct rlimit limit = {megabytes * MB, megabytes * MB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    size_t bytes = fill(size);
    CHECK(write(STDOUT_FILENO, &bytes, sizeof bytes) == sizeof bytes);
}

static void pages(void) {
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) check_skip("the kernel has no huge pages");
    char line[512], *object = malloc(100);
    FILE *file = fopen("/proc/self/smaps", "r");
    CHECK(object != NULL && file != NULL);
    for (bool found = false; fgets(line, sizeof line, file) != NULL;) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) found = (uintptr_t)object - from < to - from;
        if (!found || strncmp(line, "VmFlags:", 8) != 0) continue;
        CHECK(strstr(line, " nh") != NULL && strstr(line, " hg") == NULL);
        fclose(file);
        return;
    }
    CHECK(!"the object is in no mapping");
}

static void mappings(void) {
    enum { LEFT = 1000, PAGE = 4096 };
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    size_t most = 0;
    if (file == NULL || fscanf(file, "%zu", &most) != 1 || most < 2 * LEFT || most > 1 << 18 ||
        sysconf(_SC_PAGESIZE) != PAGE)
        check_skip("the number of mappings is not as usual");
    fclose(file);
    size_t pages = most - LEFT;
    char *room = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED);
    for (size_t i = 0; i < pages; i += 2) CHECK(mprotect(room + i * PAGE, PAGE, PROT_READ) == 0);
    for (int i = 0; i < 100000; i++) CHECK(had(1000)); /* 12,500 slabs: in the hardened build each eighth has a guard */
    for (int i = 0; i < 1000; i++) CHECK(had(20000));
    CHECK(had(100) && had(5000) && had(100000) && had(5 * MB));
    CHECK((file = fopen("/proc/self/maps", "r")) != NULL);
    fclose(file);
}

/* The kernel may map the objects wherever something is free: also inside a root of which a part is not mapped. */
static void addresses(void) {
    enum { OBJECTS = 300, STEPS = 100000 };
    static unsigned char *objects[OBJECTS];
    static size_t sizes[OBJECTS];
    unsigned random = 1;
    for (int i = 0; i < 20; i++) objects[i] = malloc(3 * MB); /* other roots: no part of the first one is opened */
    for (int i = 0; i < 20; i++) free(objects[i]);
    memset(objects, 0, sizeof objects);
    for (size_t size = SIZE_MAX / 4 + 1; size >= 4 * MB; size /= 2) {
        while (mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
        }
    }
    for (int step = 0; step < STEPS; step++) {
        random = random * 1103515245 + 12345;
        size_t place = random / 65536 % OBJECTS;
        unsigned char *object = objects[place];
        if (object != NULL) {
            CHECK(object[0] == place % 251 && object[sizes[place] - 1] == place % 251);
            free(object);
            objects[place] = NULL;
        } else if ((object = malloc(1000 + random % 299000)) != NULL) {
            objects[place] = object;
            sizes[place] = 1000 + random % 299000;
            object[0] = object[sizes[place] - 1] = (unsigned char)(place % 251);
        } else {
            CHECK(errno == ENOMEM);
        }
    }
}

int main(int count, char **arguments) {
    CHECK(count >= 2);
    free(malloc(100));
    const char *name = arguments[1];
    if (strcmp(name, "huge") == 0) many(sizeof(void *) < 8 ? 200 : 20000, 5 * MB, 4096);
    if (strcmp(name, "large") == 0) many(sizeof(void *) < 8 ? 1000 : 100000, MB, 16);
    if (strcmp(name, "terabyte") == 0) terabyte();
    if (strcmp(name, "window") == 0) window();
    if (strcmp(name, "impossible") == 0) impossible();
    if (strcmp(name, "lock") == 0) lock();
    if (strcmp(name, "locked") == 0) locked();
    if (strcmp(name, "locked_rounds") == 0) locked_rounds();
    if (strcmp(name, "small") == 0) small(arguments[0]);
    if (strcmp(name, "near") == 0) near(arguments[0]);
    if (strcmp(name, "room") == 0) tell_room(strtoul(arguments[2], NULL, 10), strtoul(arguments[3], NULL, 10));
    if (strcmp(name, "charges") == 0) tell_charges();
    if (strcmp(name, "data") == 0) within(RLIMIT_DATA, 100, 4096);
    if (strcmp(name, "space") == 0) within(RLIMIT_AS, 200, 65536);
    if (strcmp(name, "pages") == 0) pages();
    if (strcmp(name, "mappings") == 0) mappings();
    if (strcmp(name, "addresses") == 0) addresses();
    if (strcmp(name, "again") == 0) {
        size_t before = status("VmData");
        reach_again(RLIMIT_DATA, before);
        malloc_trim(0);
        fill_and_free(MB);
        malloc_trim(0);
        CHECK(status("VmData") < before + 64 * MB); /* nothing is lost */
    }
    if (strcmp(name, "madvise") == 0) {
        refuse_madvise();
        trim_tells(MB);
        reach_again(RLIMIT_AS, address_space());
    }
    if (strcmp(name, "vain") == 0) vain();
    return 0;
}
