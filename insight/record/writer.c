/* writer.c - processes and threads find their rings; a full ring makes its thread wait, so that nothing is lost. */
#include "writer.h"
#include "shared/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { NO_PROCESS = UINT32_MAX, FOLDER_SIZE = 256, MOST_MAPPED = 1 << 14, LONGEST_STEP_NS = 1000000000 };

_Thread_local struct writer writer;

/* In a page that the kernel clears in a child, however that was made: by fork, or by a system call of the program. */
struct current {
    _Atomic uint32_t process, begun;
};
static struct current not_begun;
_Atomic(_Atomic uint32_t *) current_process = &not_begun.process;

/* A ring that this process has mapped; a later thread takes the ring of an ended one. */
struct mapped {
    struct event *events;
    uint32_t ring;
    _Atomic uint32_t taken;
};

static struct mapped rings[MOST_MAPPED];
static _Atomic uint32_t ring_count;
static char folder[FOLDER_SIZE];
static struct control *control;
static struct slot *slots;
static uint32_t process_number; /* of the parent until the child has one */
static pthread_key_t thread_end_key;
static bool has_key;

static void *map_file(const char *name, size_t size) {
    char path[FOLDER_SIZE + 32];
    size_t length = strlen(folder);
    memcpy(path, folder, length);
    path[length] = '/';
    strcpy(path + length + 1, name);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory != MAP_FAILED ? memory : NULL;
}

static bool find_control(void) {
    if (control != NULL) return true; /* the parent's mapping serves its children */
    const char *chosen = getenv("JW_RECORD_FOLDER");
    if (chosen == NULL || strlen(chosen) >= FOLDER_SIZE) return false;
    strcpy(folder, chosen);
    struct control *found = map_file("control", SLOTS_OFFSET + sizeof(struct slot) * MOST_RINGS);
    if (found == NULL || found->magic != RECORD_MAGIC) return false;
    control = found;
    slots = (struct slot *)((char *)found + SLOTS_OFFSET);
    return true;
}

static struct current *page_for_one_process(void) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, 4096, MADV_WIPEONFORK) != 0) return &not_begun;
    return memory;
}

/* For the child, which has what the parent had at this time; 0 outside of fork. */
static uint64_t fork_time;

static void before_fork(void) {
    unwind_before_fork();
    fork_time = time_now();
}
static void after_fork(void) {
    fork_time = 0;
    unwind_after_fork();
}

/* For kernels that do not clear the page. */
static void forget_in_child(void) {
    unwind_in_child();
    atomic_store(&not_begun.process, 0);
    atomic_store(&not_begun.begun, 0);
}

static void thread_end(void *rounds);

/* A child drops the mappings of its parent's rings: only the parent writes there. */
static void drop_rings(void) {
    for (uint32_t i = 0; i < atomic_load(&ring_count) && i < MOST_MAPPED; i++) {
        if (rings[i].events != NULL) munmap(rings[i].events, slots[rings[i].ring].capacity * sizeof(struct event));
        rings[i].events = NULL;
        atomic_store(&rings[i].taken, 0);
    }
    atomic_store(&ring_count, 0);
}

static uint32_t process_now(void) {
    return atomic_load(atomic_load(&current_process));
}

/* Once in a process, by the thread that comes first; others wait for it. */
static void process_begin(void) {
    struct current *current = (struct current *)atomic_load(&current_process);
    uint32_t expected = 0, number = NO_PROCESS;
    if (!atomic_compare_exchange_strong(&current->begun, &expected, 1)) {
        while (process_now() == 0) wait_a_moment();
        return;
    }
    drop_rings();
    if (find_control() && atomic_load(&control->stop) == 0) number = atomic_fetch_add(&control->processes, 1) + 1;
    if (!has_key) {
        has_key = pthread_key_create(&thread_end_key, thread_end) == 0;
        current = page_for_one_process();
        pthread_atfork(before_fork, after_fork, forget_in_child);
    }
    atomic_store(&current->process, number);
    atomic_store(&current_process, &current->process);
}

static void name_event(enum kind kind, uint32_t tid) {
    struct event event = {.time = time_now(), .stack = tid, .kind = (uint8_t)kind};
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    memcpy(&event.address, name, 8);
    memcpy(&event.size, name + 8, 8);
    writer_put(&event);
}

static void program_events(void) {
    char path[256 + 16] = "";
    struct event event = {.time = time_now(), .kind = EVENT_PROGRAM};
    long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, 255);
    for (long at = 0; at <= length; at += 16) { /* the last one ends with a 0 */
        memcpy(&event.address, path + at, 8);
        memcpy(&event.size, path + at + 8, 8);
        writer_put(&event);
    }
}

static void use_ring(struct mapped *mapped) {
    writer.ring = (uint32_t)(mapped - rings);
    writer.events = mapped->events;
    writer.slot = &slots[mapped->ring];
    writer.capacity = writer.slot->capacity;
    writer.head = atomic_load_explicit(&writer.slot->head, memory_order_relaxed);
    writer.tail = atomic_load_explicit(&writer.slot->tail, memory_order_acquire); /* pairs RG2 */
}

static struct mapped *ring_of_ended_thread(void) {
    uint32_t count = atomic_load(&ring_count);
    for (uint32_t i = 0; i < count && i < MOST_MAPPED; i++) {
        uint32_t expected = 0;
        if (rings[i].events == NULL || atomic_load_explicit(&rings[i].taken, memory_order_relaxed) != 0) continue;
        if (atomic_compare_exchange_strong(&rings[i].taken, &expected, 1)) return &rings[i];
    }
    return NULL;
}

/* A wait for the recording process. */
struct patience {
    uint64_t last, waited; /* ns: the last look, and how long the heartbeat has stood still */
    uint32_t heartbeat;
};

/* Between two looks the whole job may have been stopped (Ctrl-Z): that is no wait. */
static bool recorder_lives(struct patience *patience) {
    uint64_t time = time_now(), step = patience->last != 0 ? time - patience->last : 0;
    uint32_t now = atomic_load_explicit(&control->heartbeat, memory_order_relaxed);
    if (atomic_load_explicit(&control->stop, memory_order_relaxed) != 0) return false;
    patience->last = time;
    patience->waited = now != patience->heartbeat ? 0 : patience->waited + (step < LONGEST_STEP_NS ? step : 0);
    patience->heartbeat = now;
    if (patience->waited < (uint64_t)LATE_SECONDS * 1000000000) return true;
    atomic_store(&control->stop, 1);
    return false;
}

static struct mapped *new_ring(void) {
    uint32_t index = atomic_fetch_add(&ring_count, 1);
    uint32_t ring = atomic_fetch_add(&control->rings_taken, 1);
    struct patience patience = {0, 0, 0};
    if (index >= MOST_MAPPED || ring >= MOST_RINGS) return NULL;
    atomic_store(&rings[index].taken, 1);
    while (atomic_load_explicit(&control->rings_ready, memory_order_acquire) <= ring) { /* pairs RG3 */
        if (!recorder_lives(&patience)) return NULL;
        wait_a_moment();
    }
    char name[16] = "R";
    char *at = name + sizeof name - 1;
    uint32_t rest = ring;
    do *--at = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    memmove(name + 1, at, (size_t)(name + sizeof name - at));
    rings[index].events = map_file(name, slots[ring].capacity * sizeof(struct event));
    rings[index].ring = ring;
    atomic_store(&slots[ring].process, process_number);
    return rings[index].events != NULL ? &rings[index] : NULL;
}

static void take_ring(uint32_t process) {
    bool first = process != process_number, again = writer.ended;
    uint32_t parent = process_number;
    process_number = process;
    struct mapped *mapped = ring_of_ended_thread();
    if (mapped == NULL) mapped = new_ring();
    if (mapped == NULL) return;
    use_ring(mapped);
    if (first) {
        uint8_t word = sizeof(void *) == 8 ? 3 : 2;
        uint64_t time = parent != 0 && fork_time != 0 ? fork_time : time_now();
        fork_time = 0;
        writer_put(&(struct event){time, (uint64_t)syscall(SYS_getpid), (uint64_t)syscall(SYS_getppid), parent,
                                   EVENT_PROCESS, word, 0});
        program_events();
    }
    name_event(again ? EVENT_THREAD_AGAIN : EVENT_THREAD_BEGIN, (uint32_t)syscall(SYS_gettid));
    if (!again && has_key) pthread_setspecific(thread_end_key, (void *)1);
}

bool writer_prepare(void) {
    if (writer.busy) return false;
    int error = errno;
    writer.busy = true;
    if (process_now() == 0) process_begin();
    uint32_t process = process_now();
    if (process != writer.process) {
        writer.process = process;
        writer.events = NULL;
        if (process != NO_PROCESS) take_ring(process);
    } else if (writer.ended && process != NO_PROCESS) {
        take_ring(process);
    }
    if (writer.events == NULL && process != NO_PROCESS) atomic_fetch_add(&control->lost, 1);
    writer.busy = false;
    errno = error;
    return writer.events != NULL;
}

static void give_ring_back(void) {
    struct mapped *mapped = &rings[writer.ring];
    writer.events = NULL;
    atomic_store(&mapped->taken, 0);
}

/* The program's own destructors may still allocate: only the last of the rounds that libc makes is the end. */
static void thread_end(void *rounds) {
    uintptr_t round = (uintptr_t)rounds;
    if (round < 4) {
        pthread_setspecific(thread_end_key, (void *)(round + 1));
        return;
    }
    if (writer.events == NULL || writer.process != process_now()) return;
    name_event(EVENT_THREAD_END, (uint32_t)syscall(SYS_gettid));
    writer.ended = true;
    if (writer.events != NULL) give_ring_back();
}

/* Libc itself frees after the last destructor: such an event has a ring only for its own time. */
void writer_ended_event(void) {
    if (writer.events != NULL) give_ring_back();
}

void writer_inside(void) {
    atomic_fetch_add(&control->inside, 1);
}

bool writer_make_room(void) {
    int error = errno;
    struct patience patience = {0, 0, 0};
    for (;;) {
        writer.tail = atomic_load_explicit(&writer.slot->tail, memory_order_acquire); /* pairs RG2 */
        if (writer.head - writer.tail < writer.capacity) break;
        if (!recorder_lives(&patience)) {
            writer.events = NULL;
            break;
        }
        wait_a_moment();
    }
    errno = error;
    return writer.events != NULL;
}
