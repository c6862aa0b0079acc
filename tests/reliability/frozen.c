/* frozen.c - one thread is stopped at every instruction, and the others must go on.
 *
 *   frozen [MODE [GROWTH [SEED [SCENE]]]]
 *
 *   threads    at each stop two other threads do 10,000 operations in all tiers
 *   fork       at each stop the process forks, and the child works in all tiers, with a thread
 *   watermark  the reclamation thread, or one that holds a list, is stopped; at each stop 10 MB are allocated and freed
 *
 * ptrace steps a thread of another process through each scene of scenes.c, and the reclamation thread through its
 * rounds. JWMALLOC_CONF should make these short, reclaim_interval:10; `watermark` expects cache_percent:0,cache_min:2M.
 * GROWTH 0 stops at every instruction; else at an address's first visit, and from stop to stop after GROWTH times as
 * many. `paths` stops, in each scene, at every address for each way to it, told by the last three jumps: so every
 * instruction is met in every state that a loop comes to, but the rounds of a loop that are alike only once. The
 * repetitions of one string instruction count once.
 *
 * A hang: the others have used two seconds of processor time for what takes milliseconds, or all of them sleep in the
 * kernel and go on sleeping.
 */
#include "frozen.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "check.h"
#include "entry_points.h"

enum { OPERATIONS_EACH = 5000, OPERATIONS_OF_CHILD = 200 };
enum { POLL_MS = 100, SLEEPING_POLLS = 10 };
enum { MOST_STEPS = 100000, RECLAIM_STEPS = 40000 };
enum { TABLE = 1 << 22 };
#define MOST_TIME ((uint64_t)2 * 1000 * 1000 * 1000)
#define MB ((uint64_t)1 << 20)

struct shared *shared;

static enum order order_at_stop = ORDER_WORK;
static uint32_t growth = 8;
static uint64_t random_state = 1;
static struct address {
    uint64_t key;
    uint32_t visits, last_stop;
} addresses[TABLE];
static bool by_path;
static uintptr_t jumps[3];
static uint64_t steps, distinct, stops;
static pid_t process;
static uintptr_t stopped_at;
static const char *scene_name = "";

static void report(void) {
    printf("%llu instructions stepped, %llu addresses, %llu stops, %llu operations by others, %llu forks\n",
           (unsigned long long)steps, (unsigned long long)distinct, (unsigned long long)stops,
           (unsigned long long)shared->operations, (unsigned long long)shared->forks);
}

/* Nothing is found: NULL. */
static _Noreturn void end(const char *finding) {
    Dl_info place = {0};
    dladdr((void *)stopped_at, &place);
    report();
    if (finding != NULL)
        printf("%s: scene %s, stopped at %s + 0x%lx\n", finding, scene_name, place.dli_fname ? place.dli_fname : "?",
               (unsigned long)(stopped_at - (uintptr_t)place.dli_fbase));
    kill(process, SIGKILL);
    _exit(finding != NULL);
}

/* --- The others: how much processor time they have used, and whether all sleep */

static size_t read_file(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

struct rest {
    uint64_t nanoseconds;
    bool asleep;
};

static bool is_reclamation_thread(pid_t of, const char *thread) {
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/comm", of, thread);
    read_file(path, name, sizeof name);
    return strcmp(name, "jw-reclaim\n") == 0;
}

static void look_at_thread(pid_t of, const char *thread, struct rest *rest) {
    char path[64], text[512];
    unsigned long long used = 0;
    if (atoi(thread) == shared->victim || is_reclamation_thread(of, thread)) return;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", of, thread);
    if (read_file(path, text, sizeof text) > 0 && sscanf(text, "%llu", &used) == 1) rest->nanoseconds += used;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", of, thread);
    const char *state = read_file(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    if (state == NULL || state[2] != 'S') rest->asleep = false;
}

static void look_at_process(pid_t of, struct rest *rest) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", of);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.') look_at_thread(of, entry->d_name, rest);
    if (directory != NULL) closedir(directory);
}

static struct rest look(void) {
    struct rest rest = {0, true};
    look_at_process(process, &rest);
    pid_t child = shared->child;
    if (child != 0) look_at_process(child, &rest);
    return rest;
}

/* --- Orders */

static void check_alive(void) {
    int status;
    if (waitpid(process, &status, WNOHANG) == process && (WIFEXITED(status) || WIFSIGNALED(status)))
        end("the process has died");
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    const char *state = read_file(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    if (state == NULL || state[2] == 'Z') end("the process has died");
}

static void give_order(enum order order) {
    struct rest first = {0, true}, before = first;
    unsigned sleeping = 0;
    shared->order = order;
    uint32_t number = atomic_fetch_add(&shared->ordered, 1) + 1;
    futex_wake(&shared->ordered);
    for (unsigned polls = 0;; polls++) {
        uint32_t done = atomic_load(&shared->done);
        if (done == number) return;
        futex_wait(&shared->done, done, POLL_MS);
        if (atomic_load(&shared->done) == number) return;
        check_alive();
        struct rest now = look();
        if (polls == 0) first = now;
        sleeping = now.asleep && now.nanoseconds == before.nanoseconds ? sleeping + 1 : 0;
        before = now;
        if (sleeping >= SLEEPING_POLLS) end("a hang: the others sleep");
        if (now.nanoseconds > first.nanoseconds + MOST_TIME) end("a hang: the others run in circles");
    }
}

/* --- Stepping */

static uintptr_t program_counter(pid_t thread) {
    struct user_regs_struct registers;
    struct iovec area = {&registers, sizeof registers};
    CHECK(ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &area) == 0);
#if defined(__x86_64__)
    return registers.rip;
#elif defined(__i386__)
    return (uintptr_t)registers.eip;
#else
    return registers.pc;
#endif
}

/* The visits at which it is stopped: the first, and from each to the next about `growth` times as many. */
static bool is_due(struct address *address) {
    if (address->visits++ == 0) distinct++;
    if (growth == 0) return true;
    if (by_path && address->visits > 1) return false;
    if (!by_path && address->visits <= address->last_stop * growth + random_below(&random_state, growth)) return false;
    address->last_stop = address->visits;
    return true;
}

/* The entry of an address; by path, of the address in this scene after these jumps. */
static struct address *find(uintptr_t address) {
    uint64_t key = address;
    for (unsigned i = 0; by_path && i < 3; i++) key = (key ^ jumps[i]) * 0x9e3779b97f4a7c15u ^ key >> 29;
    if (by_path) key = key * 31 + shared->scene;
    size_t place = (size_t)(key * 0x9e3779b97f4a7c15u >> 40) % TABLE;
    while (addresses[place].key != 0 && addresses[place].key != key) place = (place + 1) % TABLE;
    addresses[place].key = key;
    return &addresses[place];
}

static void stop_at(uintptr_t address) {
    stopped_at = address;
    if (!is_due(find(address))) return;
    stops++;
    give_order(order_at_stop);
}

/* Steps a stopped thread until its next SIGSTOP; false when it has ended. */
static bool step_through(pid_t thread, uint64_t most_steps) {
    uintptr_t last = 0;
    for (intptr_t signal = 0; most_steps > 0; most_steps--) {
        int status;
        if (ptrace(PTRACE_SINGLESTEP, thread, NULL, (void *)signal) != 0) check_alive();
        CHECK(waitpid(thread, &status, __WALL) == thread);
        if (!WIFSTOPPED(status)) return false;
        signal = WSTOPSIG(status);
        if (signal == SIGSTOP) return true;
        if (signal != SIGTRAP) continue;
        signal = 0;
        steps++;
        uintptr_t address = program_counter(thread);
        if (address - last > 15) {
            memmove(jumps + 1, jumps, sizeof jumps - sizeof *jumps);
            jumps[0] = address;
        }
        if (address != last) stop_at(address);
        last = address;
    }
    return true;
}

static void seize(pid_t thread) {
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0) check_skip("no ptrace here");
}

static void play(uint32_t number) {
    int status;
    uint64_t before = steps, stops_before = stops;
    scene_name = scenes[number].name;
    shared->scene = number;
    give_order(ORDER_VICTIM);
    pid_t victim = shared->victim;
    seize(victim);
    atomic_store(&shared->seized, 1);
    futex_wake(&shared->seized);
    CHECK(waitpid(victim, &status, __WALL) == victim);
    if (!WIFSTOPPED(status)) end("the process has died");
    bool stopped = step_through(victim, growth == 0 || by_path ? UINT64_MAX : MOST_STEPS);
    while (stopped) {
        ptrace(PTRACE_CONT, victim, NULL, NULL);
        stopped = waitpid(victim, &status, __WALL) == victim && WIFSTOPPED(status);
    }
    give_order(ORDER_JOIN);
    printf("%-28s%10llu instructions%10llu stops\n", scene_name, (unsigned long long)(steps - before),
           (unsigned long long)(stops - stops_before));
}

/* --- The reclamation thread itself */

static pid_t find_reclamation_thread(void) {
    char path[64];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && is_reclamation_thread(process, entry->d_name)) found = atoi(entry->d_name);
    if (directory != NULL) closedir(directory);
    return found;
}

static void play_reclamation(void) {
    uint64_t before = steps, stops_before = stops;
    scene_name = "reclamation thread";
    for (int tries = 0; tries < 1000 && steps - before < RECLAIM_STEPS; tries++) {
        int status;
        give_order(ORDER_START);
        pid_t thread = find_reclamation_thread();
        if (thread == 0 || ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0) continue;
        shared->victim = thread;
        ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
        if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) continue;
        if (step_through(thread, RECLAIM_STEPS - (steps - before))) ptrace(PTRACE_DETACH, thread, NULL, NULL);
    }
    printf("%-28s%10llu instructions%10llu stops\n", scene_name, (unsigned long long)(steps - before),
           (unsigned long long)(stops - stops_before));
    if (steps == before) end("there is no reclamation thread");
}

/* What may wait: the watermark, and a range of each thread that frees without knowing of the others'. */
static void check_watermark(void) {
    const uint64_t bound = 3 * MB;
    printf("at most %llu KB cached; %llu KB resident beyond live objects; the watermark is 2 MB\n",
           (unsigned long long)shared->most_cached >> 10, (unsigned long long)shared->most_resident >> 10);
    if (shared->most_cached > bound || shared->most_resident > bound) end("above the watermark");
}

/* Forks within a fork meet at the C library's own locks. */
static bool is_wanted(const struct scene *scene, const char *chosen) {
    if (order_at_stop == ORDER_FORK && strstr(scene->name, "fork") != NULL) return false;
    if (order_at_stop == ORDER_FILL && strstr(scene->name, "list") == NULL) return false;
    return chosen == NULL || strstr(scene->name, chosen) != NULL;
}

static void choose(const char *mode) {
    shared->operations_each = OPERATIONS_EACH;
    if (strcmp(mode, "fork") == 0) {
        order_at_stop = ORDER_FORK;
        shared->operations_each = OPERATIONS_OF_CHILD;
    } else if (strcmp(mode, "watermark") == 0) {
        order_at_stop = ORDER_FILL;
    } else {
        CHECK(strcmp(mode, "threads") == 0);
    }
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    choose(count > 1 ? arguments[1] : "threads");
    if (count > 2) {
        by_path = strcmp(arguments[2], "paths") == 0;
        if (!by_path) growth = (uint32_t)atoi(arguments[2]);
    }
    if (count > 3) random_state = strtoull(arguments[3], NULL, 0);
    process = fork();
    CHECK(process >= 0);
    if (process == 0) traced_process();
    const char *chosen = count > 4 ? arguments[4] : NULL;
    for (uint32_t i = 0; i < scene_count; i++)
        if (is_wanted(&scenes[i], chosen)) play(i);
    if ((chosen == NULL || strcmp(chosen, "reclamation") == 0) && under_jwmalloc()) play_reclamation();
    if (order_at_stop == ORDER_FILL) check_watermark();
    end(NULL);
}
