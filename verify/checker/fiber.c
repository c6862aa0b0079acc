/* fiber.c - the client's threads: fibers with their own stack and thread-local storage on one system thread.
 *
 * A fiber's thread-local storage is a copy of the main thread's whole static block, so that libc works in it; the
 * executable's part is put back to its image at each start. The engine itself has no thread-local data.
 */
#include "engine.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#if defined __x86_64__
#include "arch_x86_64.h"
#elif defined __aarch64__
#include "arch_aarch64.h"
#else
#error "no fibers for this machine"
#endif

static void *scheduler_stack;
static uint64_t main_tls;
static uint64_t block_begin, block_end; /* the main thread's static block, libc's own data included */
static int64_t image_offset;            /* of the executable's part, from the thread pointer */
static size_t image_size;
static uint8_t *image;

static int find_tls(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    bool executable = (*(unsigned *)count)++ == 0;
    uint64_t data = (uint64_t)info->dlpi_tls_data;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_TLS || !data) continue;
        size_t length = info->dlpi_phdr[i].p_memsz;
        if (executable) {
            image_offset = (int64_t)(data - main_tls);
            image_size = length;
        }
        if (data + TLS_SIZE / 2 < main_tls || data > main_tls + TLS_SIZE / 2) continue; /* not static */
        if (data < block_begin) block_begin = data;
        if (data + length > block_end) block_end = data + length;
    }
    return 0;
}

/* The block must not reach out of its mapping. */
static void clip_block(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long from, to;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx", &from, &to) != 2 || main_tls < from || main_tls >= to) continue;
        if (block_begin < from) block_begin = from;
        if (block_end > to) block_end = to;
    }
    if (maps) fclose(maps);
}

void fiber_start(void) {
    unsigned count = 0;
    main_tls = arch_tls();
    block_begin = main_tls - ARCH_LIBC_BELOW;
    block_end = main_tls + ARCH_LIBC_ABOVE;
    dl_iterate_phdr(find_tls, &count);
    block_begin -= ARCH_LIBC_BELOW;
    clip_block();
    if (main_tls - block_begin > TLS_SIZE / 2 || block_end - main_tls > TLS_SIZE / 2)
        stop_unable("more than %d bytes of thread-local storage", TLS_SIZE / 2);
    image = memory_map(0, image_size + 1, false);
    memcpy(image, (void *)(main_tls + (uint64_t)image_offset), image_size);
    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t base = ARENA_TLS + (uint64_t)i * TLS_SIZE + TLS_SIZE / 2;
        run.thread[i].tls = base;
        memcpy((void *)(base - (main_tls - block_begin)), (void *)block_begin, block_end - block_begin);
        arch_adopt_tls(base);
        mprotect((void *)(ARENA_STACKS + (uint64_t)i * STACK_SIZE), 4096, PROT_NONE);
    }
}

static void entry(void) {
    struct thread *thread = self();
    thread->result = thread->body(thread->argument);
    thread_run_destructors();
    self()->happened.at[run.current]++;
    self()->state = DONE;
    fiber_leave();
    __builtin_trap();
}

void fiber_create(unsigned number, void *(*body)(void *), void *argument) {
    struct thread *thread = &run.thread[number];
    thread->body = body;
    thread->argument = argument;
    thread->state = READY;
    thread->stack_pointer = arch_prepare((void *)(ARENA_STACKS + (uint64_t)(number + 1) * STACK_SIZE - 64), entry);
    memcpy((void *)(thread->tls + (uint64_t)image_offset), image, image_size);
}

void fiber_enter(unsigned number) {
    arch_set_tls(run.thread[number].tls);
    arch_switch(&scheduler_stack, run.thread[number].stack_pointer);
}

void fiber_leave(void) {
    arch_set_tls(main_tls);
    arch_switch(&self()->stack_pointer, scheduler_stack);
}

void fiber_use_main_tls(void) {
    if (main_tls) arch_set_tls(main_tls); /* 0: no fiber has run yet */
}
