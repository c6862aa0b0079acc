/* longest.c - a plugin of qemu-user that counts the instructions of single calls, for ./jw asm --longest.
 *
 *   qemu-x86_64 -plugin liblongest.so,malloc=ADDRESS,free=ADDRESS,end=ADDRESS,low=ADDRESS,high=ADDRESS,out=FILE PROGRAM
 *
 * A call begins when a thread runs the program's function at `malloc` or `free`, and ends when it runs the one at
 * `end`. Each instruction between counts, in any library, but not those of the program itself: `low` up to `high`. Of
 * each kind the longest calls are kept with the blocks that they ran. At the end FILE gets one line a call:
 *
 *   kind instructions call-of-its-thread system-calls,numbers address*length ...
 *   kind all power-of-two-bucket=calls ...
 *
 * QEMU's header is not packaged with it, so what is used of its interface, version 1, is declared here.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
typedef void translated(uint64_t id, struct qemu_plugin_tb *block);
typedef void executed(unsigned thread, void *data);
typedef void called(uint64_t id, unsigned thread, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                    uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated *callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, executed *callback, int flags, void *data);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t id, called *callback);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*callback)(uint64_t id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum kind { MALLOC, FREE, KINDS };
enum { THREADS = 256, BLOCKS = 1 << 16, KEPT = 64, CALLS = 4096, BUCKETS = 32 };

struct block {
    uint64_t address;
    uint32_t length;
};

/* A call: what it ran, in order; blocks above BLOCKS only count. */
struct call {
    uint64_t instructions, number;
    unsigned blocks, system_calls;
    int64_t systems[CALLS];
    const struct block *ran[BLOCKS];
};

static struct thread {
    struct call *call;
    enum kind kind;
    bool inside;
    uint64_t count;
} threads[THREADS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct call *kept[KINDS][KEPT];
static uint64_t buckets[KINDS][BUCKETS], places[KINDS], end, low, high;
static char output[4096];

static void begin(unsigned number, enum kind kind) {
    struct thread *thread = &threads[number % THREADS];
    if (!thread->call) thread->call = malloc(sizeof(*thread->call));
    if (!thread->call) abort();
    memset(thread->call, 0, offsetof(struct call, ran));
    thread->call->number = ++thread->count;
    thread->kind = kind;
    thread->inside = true;
}

static void begin_malloc(unsigned thread, void *unused) {
    (void)unused;
    begin(thread, MALLOC);
}

static void begin_free(unsigned thread, void *unused) {
    (void)unused;
    begin(thread, FREE);
}

/* Takes the place of the shortest call that is kept, if it is longer. */
static void end_call(unsigned number, void *unused) {
    (void)unused;
    struct thread *thread = &threads[number % THREADS];
    struct call *call = thread->call;
    if (!thread->inside) return;
    thread->inside = false;
    unsigned bucket = 0, shortest = 0;
    while (bucket < BUCKETS - 1 && call->instructions >> bucket) bucket++;
    struct call **list = kept[thread->kind];
    pthread_mutex_lock(&mutex);
    buckets[thread->kind][bucket]++;
    for (unsigned i = 0; i < KEPT && list[shortest]; i++) {
        if (!list[i] || list[i]->instructions < list[shortest]->instructions) shortest = i;
    }
    if (!list[shortest] || list[shortest]->instructions < call->instructions) {
        thread->call = list[shortest];
        list[shortest] = call;
    }
    pthread_mutex_unlock(&mutex);
}

static void count(unsigned number, void *data) {
    struct thread *thread = &threads[number % THREADS];
    if (!thread->inside) return;
    const struct block *block = data;
    thread->call->instructions += block->length;
    if (thread->call->blocks < BLOCKS) thread->call->ran[thread->call->blocks++] = block;
}

static void on_translated(uint64_t id, struct qemu_plugin_tb *block) {
    (void)id;
    uint64_t address = qemu_plugin_tb_vaddr(block);
    executed *callback = address == places[MALLOC] ? begin_malloc : address == places[FREE] ? begin_free : NULL;
    if (address == end) callback = end_call;
    if (!callback && address - low < high - low) return;
    struct block *counted = callback ? NULL : calloc(1, sizeof(*counted)); /* never freed: QEMU's block may return */
    if (counted) *counted = (struct block){address, (uint32_t)qemu_plugin_tb_n_insns(block)};
    qemu_plugin_register_vcpu_tb_exec_cb(block, callback ? callback : count, 0, counted);
}

static void on_system_call(uint64_t id, unsigned number, int64_t system, uint64_t a1, uint64_t a2, uint64_t a3,
                           uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
    (void)id, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    struct thread *thread = &threads[number % THREADS];
    if (!thread->inside) return;
    if (thread->call->system_calls < CALLS) thread->call->systems[thread->call->system_calls] = system;
    thread->call->system_calls++;
}

static void write_call(FILE *file, const char *kind, const struct call *call) {
    fprintf(file, "%s %" PRIu64 " %" PRIu64 " %u", kind, call->instructions, call->number, call->system_calls);
    for (unsigned i = 0; i < call->system_calls && i < CALLS; i++) fprintf(file, ",%" PRId64, call->systems[i]);
    for (unsigned i = 0; i < call->blocks; i++) {
        fprintf(file, " %" PRIx64 "*%u", call->ran[i]->address, call->ran[i]->length);
    }
    fputc('\n', file);
}

static void on_exit_of_program(uint64_t id, void *unused) {
    (void)id, (void)unused;
    static const char *const names[KINDS] = {"malloc", "free"};
    FILE *file = fopen(output, "w");
    if (!file) return;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        fprintf(file, "%s all", names[kind]);
        for (unsigned i = 0; i < BUCKETS; i++) fprintf(file, " %" PRIu64, buckets[kind][i]);
        fputc('\n', file);
        for (unsigned i = 0; i < KEPT && kept[kind][i]; i++) write_call(file, names[kind], kept[kind][i]);
    }
    fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *about, int argc, char **argv) {
    (void)about;
    static const char *const names[] = {"malloc=", "free=", "end=", "low=", "high="};
    uint64_t *const words[] = {&places[MALLOC], &places[FREE], &end, &low, &high};
    for (int i = 0; i < argc; i++) {
        for (unsigned n = 0; n < sizeof(names) / sizeof(*names); n++) {
            size_t length = strlen(names[n]);
            if (strncmp(argv[i], names[n], length) == 0) *words[n] = strtoull(argv[i] + length, NULL, 16);
        }
        if (strncmp(argv[i], "out=", 4) == 0) snprintf(output, sizeof(output), "%s", argv[i] + 4);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
    qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
    return 0;
}
