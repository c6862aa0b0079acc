/* remote.c - finds the page of a watched process, copies its variables, and fetches its memory (remote.h). */
#define _GNU_SOURCE 1 /* process_vm_readv, MAP_FIXED_NOREPLACE */
#include "watch/remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/published.h"

enum { BLOCK = 16384, PAGE = 4096, BLOCKS_MOST = 1 << 20 };

static pid_t process;
static int page_file = -1;
static struct watch_page opened;
static uintptr_t *blocks; /* fetched since the last look */
static size_t block_count, missing;
static sigjmp_buf ended;

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* Copies the process's memory. Returns the bytes copied, the first ones; -1 with errno. */
static ssize_t copy(void *to, uintptr_t from, size_t size) {
    struct iovec here = {to, size}, there = {(void *)from, size};
    return process_vm_readv(process, &here, 1, &there, 1, 0);
}

/* --- the page --- */

/* The process's own number of itself: another one in a namespace of processes. */
static uint32_t own_number(void) {
    char path[64], line[256];
    uint32_t number = (uint32_t)process;
    snprintf(path, sizeof path, "/proc/%d/status", process);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "NSpid:", 6) == 0) number = (uint32_t)strtoul(strrchr(line, '\t'), NULL, 10);
    if (status) fclose(status);
    return number;
}

static bool read_page(int file, struct watch_page *page) {
    ssize_t length = pread(file, page, sizeof *page, 0);
    return length >= (ssize_t)offsetof(struct watch_page, library) && memcmp(page->magic, WATCH_MAGIC, 8) == 0;
}

/* Opens the page among the process's open files: its own one, else a page of its parent, which it has inherited. */
static int find_page(DIR *files) {
    char target[64];
    int other = -1;
    for (struct dirent *entry; (entry = readdir(files));) {
        ssize_t length = readlinkat(dirfd(files), entry->d_name, target, sizeof target - 1);
        if (length < 0) continue;
        target[length] = '\0';
        if (strncmp(target, "/memfd:" WATCH_FILE, strlen("/memfd:" WATCH_FILE)) != 0) continue;
        int file = openat(dirfd(files), entry->d_name, O_RDONLY | O_CLOEXEC);
        struct watch_page page = {.version = 0};
        if (file < 0 || !read_page(file, &page)) continue;
        if (page.version != WATCH_VERSION || page.pid == own_number()) return file;
        other = file;
    }
    return other;
}

static void check_page(void) {
    struct watch_page page = {.version = 0};
    read_page(page_file, &page);
    if (page.version != WATCH_VERSION)
        fail("process %d has version %u of the page; this program reads version %u", process, page.version,
             WATCH_VERSION);
    if (page.pid != own_number())
        fail("process %d has only the page of its parent %u: it was not made by fork, or has no page of its own",
             process, page.pid);
    if (page.layout != watch_layout() || page.size != sizeof page || page.slow_paths != SLOW_PATHS)
        fail("process %d has another build of jwmalloc (%.16s): use the tools of that build", process, page.library);
    opened = page;
}

/* --- the program's own addresses --- */

struct mapping {
    uintptr_t start, end;
    char access[8], name[128];
};

static bool next_mapping(FILE *maps, struct mapping *mapping) {
    char line[512];
    if (!fgets(line, sizeof line, maps)) return false;
    mapping->name[0] = '\0';
    sscanf(line, "%lx-%lx %7s %*s %*s %*s %127[^\n]", &mapping->start, &mapping->end, mapping->access, mapping->name);
    return true;
}

/* Whether something of this program lies where the process may have tables: memory without a file that is mapped. */
static bool addresses_meet(void) {
    char path[64];
    struct mapping mine, theirs;
    bool meet = false;
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *own = fopen("/proc/self/maps", "r");
    while (own && next_mapping(own, &mine)) {
        FILE *other = fopen(path, "r");
        while (other && next_mapping(other, &theirs))
            meet |= theirs.name[0] != '/' && strncmp(theirs.name, "[heap", 5) != 0 &&
                    strncmp(theirs.name, "[v", 2) != 0 && mine.start < theirs.end && theirs.start < mine.end;
        if (other) fclose(other);
    }
    if (own) fclose(own);
    return meet;
}

/* Starts this program again, whose addresses are others then. */
static void keep_apart(void) {
    static const char name[] = "JW_WATCH_TRIES";
    char *before = getenv(name), tries[8], words[4096];
    int count = before ? atoi(before) : 0;
    if (!addresses_meet()) return;
    if (count == 8) fail("process %d has its tables where this program lies; try again", process);
    snprintf(tries, sizeof tries, "%d", count + 1);
    setenv(name, tries, true);
    FILE *line = fopen("/proc/self/cmdline", "r");
    size_t length = line ? fread(words, 1, sizeof words - 1, line) : 0;
    char *arguments[16] = {NULL};
    words[length] = '\0';
    for (size_t at = 0, number = 0; at < length && number < 15; at += strlen(words + at) + 1)
        arguments[number++] = words + at;
    execv("/proc/self/exe", arguments);
}

/* --- fetching --- */

static bool map_block(uintptr_t at, size_t size) {
    return mmap((void *)at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
           (void *)at;
}

/* Copies the block, page by page where a part of it is not there. `wanted` is in the page that was touched. */
static void fill_block(uintptr_t at, size_t size, uintptr_t wanted) {
    if (copy((void *)at, at, size) == (ssize_t)size) return;
    if (errno == ESRCH) siglongjmp(ended, 1);
    for (uintptr_t page = at; page < at + size; page += PAGE)
        if (copy((void *)page, page, PAGE) != PAGE && page == (wanted & -(uintptr_t)PAGE)) missing++;
    if (kill(process, 0) != 0 && errno == ESRCH) siglongjmp(ended, 1);
}

static void fetch(int number, siginfo_t *fault, void *context) {
    (void)context;
    uintptr_t wanted = (uintptr_t)fault->si_addr, at = wanted & -(uintptr_t)BLOCK;
    size_t size = BLOCK;
    if (!map_block(at, size)) {
        at = wanted & -(uintptr_t)PAGE;
        size = PAGE;
    }
    if (wanted < PAGE || block_count == BLOCKS_MOST || (size == PAGE && !map_block(at, size))) {
        signal(number, SIG_DFL); /* a mistake of this program */
        return;
    }
    blocks[block_count++] = at | (size == PAGE);
    fill_block(at, size, wanted);
}

static void forget(void) {
    for (; block_count > 0; block_count--) {
        uintptr_t block = blocks[block_count - 1];
        munmap((void *)(block & ~(uintptr_t)1), block & 1 ? PAGE : BLOCK);
    }
    missing = 0;
}

size_t remote_missing(void) {
    return missing;
}

/* --- the variables --- */

static const struct published *own_entry(const char *name) {
    for (const struct published *own = PUBLISHED_BEGIN; own < PUBLISHED_END; own++)
        if (strncmp(own->name, name, sizeof own->name) == 0) return own;
    return NULL;
}

void *remote_variable(const char *name) {
    return own_entry(name)->variable;
}

static bool copy_variables(void) {
    enum { MOST = 64 };
    struct published table[MOST];
    size_t size = opened.entries * sizeof *table;
    if (opened.entries > MOST) fail("process %d has a page that is not right", process);
    if (copy(table, opened.table, size) != (ssize_t)size) return false;
    for (const struct published *theirs = table; theirs < table + opened.entries; theirs++) {
        const struct published *own = own_entry(theirs->name);
        if (!own || own->size != theirs->size)
            fail("process %d has another build of jwmalloc (%.16s)", process, opened.library);
        if (copy(own->variable, (uintptr_t)theirs->variable, theirs->size) != (ssize_t)theirs->size) return false;
    }
    return true;
}

bool remote_look(struct watch_page *page) {
    forget();
    errno = 0;
    bool there = copy_variables();
    if (!there && errno != ESRCH && errno != EFAULT && errno != 0)
        fail("process %d: the system refuses to read its memory (%s): see \"Who may look\" in docs/insight/watch.md",
             process, strerror(errno));
    *page = (struct watch_page){.version = 0};
    return there && read_page(page_file, page);
}

bool remote_try(void (*function)(void)) {
    if (sigsetjmp(ended, 1)) return false;
    function();
    return true;
}

void remote_open(pid_t pid) {
    char path[64];
    process = pid;
    snprintf(path, sizeof path, "/proc/%d/fd", process);
    DIR *files = opendir(path);
    if (!files && errno == ENOENT) fail("process %d: there is none", process);
    if (!files) fail("process %d is another user's, or may not be read: %s", process, strerror(errno));
    page_file = find_page(files);
    closedir(files);
    if (page_file < 0)
        fail("process %d cannot be watched: start it with jwmalloc and JWMALLOC_CONF=watch:true", process);
    check_page();
    blocks = mmap(NULL, BLOCKS_MOST * sizeof *blocks, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    keep_apart();
    struct sigaction action = {.sa_sigaction = fetch, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}
