/* file.c - makes the process's file, and writes rows and modules there. */
#include "file.h"
#include "modules.h"
#include "shared/unwind.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
    FOLDER_SIZE = 256,
    CHUNK = 256 << 10, /* the file's memory grows by so much */
    FIRST = 64 << 10,
    MOST_FILE = 64 << 20,
    MOST_INDEX = 1 << 18,
    PROBES = 32,
};

struct control *control;
static char folder[FOLDER_SIZE], path[FOLDER_SIZE + 48];
static struct head *file;
static uint64_t limit; /* of the file */
static uint32_t process;

/* Rows by hash of stack and size. A child of fork has its parent's rows, and copies their records. */
static struct {
    _Atomic uint64_t hash;
    _Atomic uint32_t row;
} rows_by_hash[MOST_INDEX];
static _Atomic uint32_t unloaded; /* how often a library was */
static atomic_flag extending = ATOMIC_FLAG_INIT;

/* In a page that the kernel clears in a child, however that was made: by fork, or by a system call of the program. */
enum { NONE, READY, FAILED };
struct current {
    _Atomic uint32_t begun, state;
};
static struct current without_page;
static struct current *current = &without_page;

static int open_file(const char *name, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, name, flags | O_RDWR | O_CLOEXEC, 0600); /* no point of cancellation */
}

static void close_file(int descriptor) {
    syscall(SYS_close, descriptor);
}

static void *map_file(int descriptor, size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* For systems that do not clear the page. */
static void forget_in_child(void) {
    memset(&without_page, 0, sizeof without_page);
}

bool file_begin(const char *chosen) {
    if (strlen(chosen) >= FOLDER_SIZE) return false;
    strcpy(folder, chosen);
    strcat(strcpy(path, folder), "/control");
    int descriptor = open_file(path, 0);
    if (descriptor < 0) return false;
    control = map_file(descriptor, sizeof *control);
    close_file(descriptor);
    if (control == NULL || control->magic != CONTROL_MAGIC) return false;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0) current = page;
    pthread_atfork(NULL, NULL, forget_in_child);
    return true;
}

static char *put_number(char *at, uint32_t number) {
    char digits[10];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0) *at++ = digits[--count];
    *at = 0;
    return at;
}

/* P<pid>-<n>: a program that was started by exec has its predecessor's pid. */
static int make_file(uint32_t pid) {
    for (uint32_t n = 0; n < 1000; n++) {
        char *at = put_number(strcat(strcpy(path, folder), "/P") + strlen(folder) + 2, pid);
        *at = '-';
        put_number(at + 1, n);
        int descriptor = open_file(path, O_CREAT | O_EXCL);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

/* At most what the program may write: a longer file would be a signal. */
static uint64_t most_bytes(void) {
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < MOST_FILE ? most.rlim_cur / CHUNK * CHUNK : MOST_FILE;
}

static struct head *new_file(uint64_t used) {
    uint32_t pid = (uint32_t)syscall(SYS_getpid);
    struct head *made = NULL;
    uint64_t backed = (used + FIRST) / RECORD_UNIT * RECORD_UNIT;
    limit = most_bytes();
    if (backed > limit) return NULL;
    int descriptor = make_file(pid);
    if (descriptor < 0) return NULL;
    if (ftruncate(descriptor, (off_t)limit) == 0 && posix_fallocate(descriptor, 0, (off_t)backed) == 0)
        made = map_file(descriptor, limit);
    close_file(descriptor);
    if (made == NULL) return NULL;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    made->pid = pid;
    made->parent_pid = (uint32_t)syscall(SYS_getppid);
    made->began = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", made->program, PATH_SIZE) >= PATH_SIZE)
        made->program[0] = 0;
    atomic_store(&made->used, used);
    atomic_store(&made->backed, backed);
    made->magic = PROFILE_MAGIC;
    return made;
}

static struct row *row_at(uint32_t row) {
    return (struct row *)((char *)file + (uint64_t)row * RECORD_UNIT);
}

static void count_inherited(uint32_t row) {
    atomic_fetch_add_explicit(&row_at(row)->inherited, 1, memory_order_relaxed);
}

/* The parent's records, at the same places. It may write more of them meanwhile, which this process does not use. */
static void copy_records(struct head *to, const struct head *from, uint64_t used) {
    memcpy(to + 1, from + 1, used - sizeof *to);
    for (uint64_t at = sizeof *to, units; at < used; at += units * RECORD_UNIT) {
        struct row *row = (struct row *)((char *)to + at);
        uint64_t tag = atomic_load(&row->tag);
        units = tag >> 32 == TAG >> 32 ? tag & 0xffffff : 1;
        if (tag >> 24 == (TAG >> 24 | RECORD_ROW)) row->allocated = row->freed = row->inherited = 0;
    }
}

/* By the first thread that comes. A child has the table that its parent had at the fork, and no other process has. */
static bool begin_process(void) {
    struct head *old = file;
    uint64_t used = old != NULL ? atomic_load(&old->used) : sizeof *old, size = limit;
    struct head *made = new_file(used);
    atomic_flag_clear(&extending);
    modules_begin();
    if (made == NULL) return false;
    if (old != NULL) {
        copy_records(made, old, used);
        munmap(old, size);
    }
    file = made;
    process = control->seed == 0 ? made->pid : process + 1;
    if (old != NULL) table_each(count_inherited);
    return true;
}

bool file_ready(void) {
    uint32_t state = atomic_load(&current->state), none = 0;
    if (__builtin_expect(state == READY, 1)) return true;
    if (state == FAILED || !atomic_compare_exchange_strong(&current->begun, &none, 1)) return false;
    bool good = begin_process();
    atomic_store(&current->state, good ? READY : FAILED);
    return good;
}

uint32_t file_process(void) {
    return process;
}

void file_count_unwound(void) {
    atomic_fetch_add(&file->unwound, 1);
}
void file_drop_full(void) {
    atomic_fetch_add(&file->full, 1);
}
void file_drop_busy(void) {
    atomic_fetch_add(&file->busy, 1);
}
void file_drop_unknown(void) {
    atomic_fetch_add(&file->unknown, 1);
}

/* --- Records ----------------------------------------------------------------------------------------------------- */

static bool extend(uint64_t needed) {
    if (atomic_flag_test_and_set(&extending)) {
        file_drop_busy();
        return false;
    }
    uint64_t backed = atomic_load(&file->backed), more = backed + CHUNK < limit ? CHUNK : limit - backed;
    bool good = needed <= backed;
    int descriptor = good ? -1 : open_file(path, 0);
    if (descriptor >= 0) {
        good = needed <= backed + more && posix_fallocate(descriptor, (off_t)backed, (off_t)more) == 0;
        close_file(descriptor);
        if (good) atomic_store(&file->backed, backed + more);
    }
    atomic_flag_clear(&extending);
    if (!good) file_drop_full();
    return good;
}

/* Zeroed memory of the file; NULL: dropped. */
static void *reserve(uint64_t size) {
    size = (size + RECORD_UNIT - 1) / RECORD_UNIT * RECORD_UNIT;
    uint64_t at = atomic_load(&file->used);
    do {
        if (at + size > atomic_load(&file->backed) && !extend(at + size)) return NULL;
    } while (!atomic_compare_exchange_weak(&file->used, &at, at + size));
    return (char *)file + at;
}

static void complete(_Atomic uint64_t *tag, uint64_t kind, uint64_t size) {
    uint64_t length = (size + RECORD_UNIT - 1) / RECORD_UNIT;
    atomic_store_explicit(tag, TAG | kind << 24 | length, memory_order_release); /* [PR1] */
}

bool file_put_module(const struct found_module *found) {
    size_t length = strlen(found->name) + 1, size = offsetof(struct module, path) + length;
    struct module *module = reserve(size);
    if (module == NULL) return false;
    module->start = found->start;
    module->end = found->end;
    module->offset = found->offset;
    module->bias = found->bias;
    module->build_id_size = found->build_id_size;
    memcpy(module->build_id, found->build_id, found->build_id_size);
    memcpy(module->path, found->name, length);
    complete(&module->tag, RECORD_MODULE, size);
    return true;
}

static uint32_t add_row(void **frames, int count, uint64_t size) {
    enum modules_result said = modules_know(frames, count);
    if (said == MODULES_BUSY) file_drop_busy();
    if (said != MODULES_KNOWN) return 0;
    uint64_t bytes = sizeof(struct row) + (uint64_t)count * sizeof(uint64_t);
    struct row *row = reserve(bytes);
    if (row == NULL) return 0;
    row->size = size;
    row->count = (uint64_t)count;
    for (int i = 0; i < count; i++) row->frames[i] = (uintptr_t)frames[i];
    complete(&row->tag, RECORD_ROW, bytes);
    return (uint32_t)(((char *)row - (char *)file) / RECORD_UNIT);
}

/* Two threads that add one row at a time add it twice, and a reader takes both. */
uint32_t file_row(void **frames, int count, uint64_t size) {
    uint64_t hash =
        stack_hash(frames, count) ^ (size + ((uint64_t)atomic_load(&unloaded) << 48)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash |= 1;
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        uint32_t at = (uint32_t)((hash >> 20) + probe) & (MOST_INDEX - 1), row;
        uint64_t found = 0;
        if (!atomic_compare_exchange_strong(&rows_by_hash[at].hash, &found, hash) && found != hash) continue;
        if ((row = atomic_load(&rows_by_hash[at].row)) != 0) return row;
        row = add_row(frames, count, size);
        atomic_store(&rows_by_hash[at].row, row);
        return row;
    }
    file_drop_full();
    return 0;
}

void file_forget_addresses(void) {
    atomic_fetch_add(&unloaded, 1);
}

void file_allocated(uint32_t row) {
    atomic_fetch_add_explicit(&row_at(row)->allocated, 1, memory_order_relaxed);
}

void file_freed(uint32_t row) {
    atomic_fetch_add_explicit(&row_at(row)->freed, 1, memory_order_relaxed);
}
