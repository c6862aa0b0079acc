/* report.c - a line and up to three stacks, as path+offset: `addr2line -f -e PATH OFFSET` names such a frame. */
#include "report.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static char output_path[PATH_MAX], line[PATH_MAX + 256];
static size_t used;
static int output;
static atomic_flag writing = ATOMIC_FLAG_INIT; /* one thread writes; a second one that has found something waits */
static _Thread_local bool inside;

void report_begin(const char *path) {
    if (path != NULL && strlen(path) < sizeof output_path) strcpy(output_path, path);
}

void report_in_child(void) {
    used = 0; /* another thread of the parent may have been writing */
    atomic_flag_clear(&writing);
}

static void put(const char *text) {
    for (; *text != 0 && used < sizeof line; text++) line[used++] = *text;
}

static void put_number(uintptr_t number, unsigned base) {
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = 0;
    do digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    if (base == 16) put("0x");
    put(&digits[at]);
}

static void end_line(void) {
    if (used == sizeof line) used--;
    line[used++] = '\n';
    for (size_t done = 0; done < used;) {
        ssize_t written = write(output, line + done, used - done);
        if (written > 0) done += (size_t)written;
        else if (written < 0 && errno == EINTR) continue;
        else if (output != STDERR_FILENO) output = STDERR_FILENO; /* the disk is full */
        else break;
    }
    used = 0;
}

/* glibc 2.35 or newer finds a file without a lock. Elsewhere dladdr may wait for the loader's. */
static bool find_file(void *address, const char **path, uintptr_t *bias) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object(address, &found) != 0) return false;
    *path = found.dlfo_link_map->l_name;
    *bias = found.dlfo_link_map->l_addr;
    return true;
#else
    Dl_info found;
    struct link_map *map = NULL;
    if (dladdr1(address, &found, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return false;
    *path = map->l_name;
    *bias = map->l_addr;
    return true;
#endif
}

static void put_frame(int number, uintptr_t address) {
    static char program[PATH_MAX];
    const char *path = NULL;
    uintptr_t bias = 0;
    bool known = find_file((void *)address, &path, &bias);
    if (known && (path == NULL || path[0] == 0)) {
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        program[length > 0 ? length : 0] = 0;
        path = program;
    }
    put("    #");
    put_number((uintptr_t)number, 10);
    put(" ");
    put(known ? path : "(no file)");
    put("+");
    put_number(address - bias, 16);
    end_line();
}

/* A return address is behind its call: the byte before it is named. */
static void put_stack(const char *is, const struct stack *stack, bool exact) {
    put("  ");
    put(is);
    put(" thread ");
    put_number((uintptr_t)stack->thread, 10);
    put(stack->count != 0 ? ":" : ", stack not known");
    end_line();
    for (int i = 0; i < stack->count; i++) put_frame(i, (uintptr_t)stack->frames[i] - !(i == 0 && exact));
}

static void put_place(uintptr_t address, const struct slot *slot) {
    uintptr_t first = (uintptr_t)slot->object, end = first + slot->size;
    put(", ");
    put_number(address < first ? first - address : address >= end ? address - end : address - first, 10);
    put(address < first ? " bytes before" : address >= end ? " bytes behind the end of" : " bytes inside");
    put(" the object ");
    put_number(first, 16);
    put(" of ");
    put_number(slot->size, 10);
    put(" bytes");
}

void report_write(const struct report *report) {
    int cancel;
    if (inside) return; /* a fault of our own */
    inside = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* open and write are points of cancellation */
    while (atomic_flag_test_and_set(&writing)) wait_a_moment();
    int file = output_path[0] != 0 ? open(output_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    output = file >= 0 ? file : STDERR_FILENO;
    put("jw guard: ");
    put(report->kind);
    if (report->access != NULL) put(": ");
    if (report->access != NULL) put(report->access);
    put(" at ");
    put_number(report->address, 16);
    if (report->slot != NULL) put_place(report->address, report->slot);
    put("; process ");
    put_number((uintptr_t)getpid(), 10);
    end_line();
    put_stack(report->here_is, report->here, report->exact);
    if (report->slot != NULL) put_stack("allocated by", &report->slot->allocated, false);
    if (report->slot != NULL && report->slot->freed.thread != 0) put_stack("freed by", &report->slot->freed, false);
    if (file >= 0) close(file);
    atomic_flag_clear(&writing);
    pthread_setcancelstate(cancel, NULL);
    inside = false;
}
