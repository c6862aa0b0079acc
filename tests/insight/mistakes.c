/* mistakes.c - makes the mistake that is asked for; also correct programs. guard_test.py knows its functions. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline))

static const char *mistake;
static size_t page;

SITE static char *site_allocates(size_t size) {
    char *object = malloc(size);
    if (object == NULL) abort();
    __asm__ volatile("" ::: "memory");
    return object;
}

SITE static void site_frees(char *object) {
    free(object);
    __asm__ volatile("" ::: "memory");
}

SITE static void site_writes(char *object, ptrdiff_t at) {
    *(volatile char *)(object + at) = 1;
}

SITE static void site_reads(char *object, ptrdiff_t at) {
    (void)*(volatile char *)(object + at);
}

/* Objects are at either end of their page, so that a program finds out which one it has. */
static char *object_at(bool right, size_t size) {
    for (int i = 0; i < 1000; i++) {
        char *object = site_allocates(size);
        if ((((uintptr_t)object & (page - 1)) != 0) == right) return object;
        site_frees(object);
    }
    exit(3);
}

static void make_it(void) {
    if (strcmp(mistake, "overflow") == 0) site_writes(object_at(true, 48), 50);
    else if (strcmp(mistake, "overflow_read") == 0) site_reads(object_at(true, 48), 48);
    else if (strcmp(mistake, "underflow") == 0) site_writes(object_at(false, 48), -3);
    else if (strcmp(mistake, "small_overflow") == 0 || strcmp(mistake, "small_underflow") == 0) {
        bool over = mistake[6] == 'o';
        char *object = object_at(true, 42);
        site_writes(object, over ? 44 : -5);
        site_frees(object);
    } else if (strcmp(mistake, "left_overflow") == 0) {
        char *object = object_at(false, 42);
        site_writes(object, 100);
        if (realloc(object, 100) == NULL) abort();
    } else if (strcmp(mistake, "zero") == 0) {
        char *object = site_allocates(0);
        site_writes(object, 0);
        site_frees(object);
    } else {
        char *object = site_allocates(40);
        if (strcmp(mistake, "inner_free") == 0) site_frees(object + 8);
        if (strcmp(mistake, "guard_free") == 0) site_frees(object_at(true, 48) + 48);
        site_frees(object);
        for (int i = 0; mistake[0] == 'l' && i < 8; i++) site_frees(site_allocates(56)); /* in other slots */
        if (strcmp(mistake, "read_after") == 0 || strcmp(mistake, "late_read") == 0) site_reads(object, 39);
        if (strcmp(mistake, "write_after") == 0) site_writes(object, 0);
        if (strcmp(mistake, "double_free") == 0) site_frees(object);
        if (strcmp(mistake, "double_realloc") == 0 && realloc(object, 100) == NULL) abort();
    }
}

static void *in_thread(void *unused) {
    make_it();
    return unused;
}

static void by_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0) abort();
    pthread_join(thread, NULL);
}

/* The child ends as its mistake ends it, and the parent in the same way. */
static void by_child(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* the guard's handler stays */
        make_it();
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child) abort();
    if (!WIFSIGNALED(status)) exit(4);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
}

/* --- Correct programs -------------------------------------------------------------------------------------------- */

static void verify(bool good) {
    if (!good) abort();
}

static void fill(char *object, size_t size, int with) {
    memset(object, with, malloc_usable_size(object) >= size ? malloc_usable_size(object) : size);
}

static void use(size_t size) {
    char *object = malloc(size), *zero = calloc(1, size), *aligned = aligned_alloc(64, size), *paged = NULL;
    verify(object != NULL && zero != NULL && aligned != NULL && posix_memalign((void **)&paged, page, size) == 0);
    size_t least = size < _Alignof(max_align_t) ? 8 : _Alignof(max_align_t);
    verify((uintptr_t)object % least == 0 && (uintptr_t)zero % least == 0);
    verify((uintptr_t)aligned % 64 == 0 && (uintptr_t)paged % page == 0 && malloc_usable_size(object) >= size);
    for (size_t i = 0; i < size; i++) verify(zero[i] == 0);
    fill(object, size, 7);
    fill(zero, size, 8);
    fill(aligned, size, 9);
    fill(paged, size, 10);
    for (size_t bigger = size; bigger < size + 3000; bigger += 800) {
        object = realloc(object, bigger + 1);
        verify(object != NULL);
        for (size_t i = 0; i < size; i++) verify(object[i] == 7);
    }
    object = realloc(object, 1);
    verify(object != NULL && (size == 0 || object[0] == 7));
    free(object);
    free(zero);
    free(aligned);
    free(paged);
}

static void *work(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < 400; i++) use((size_t)rand_r(&state) % 5000);
    return NULL;
}

static void correct(void) {
    void *(*volatile make)(size_t) = malloc;
    pthread_t thread[4];
    verify(make(SIZE_MAX / 2) == NULL && errno == ENOMEM);
    for (uintptr_t i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)i) != 0) abort();
    for (int i = 0; i < 10; i++) { /* while other threads are inside of malloc and free */
        int status;
        pid_t child = fork();
        if (child == 0) {
            work((void *)5);
            _exit(0);
        }
        verify(waitpid(child, &status, 0) == child && status == 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

/* No allocator has objects of 17 bytes, but the guard has. */
static void samples(void) {
    int count = 0;
    for (int i = 0; i < 200000; i++) {
        char *object = site_allocates(17);
        count += malloc_usable_size(object) == 17;
        site_frees(object);
    }
    printf("%d\n", count);
}

/* --- Handlers of SIGSEGV ----------------------------------------------------------------------------------------- */

static char *wall, alternative[65536];
static sigjmp_buf back;
static volatile int calls;
static volatile bool on_alternative;

static bool is_on_alternative(const void *place) {
    return (const char *)place >= alternative && (const char *)place < alternative + sizeof alternative;
}

static void opens(int number, siginfo_t *info, void *context) {
    (void)context;
    verify(number == SIGSEGV && (char *)info->si_addr == wall && info->si_code == SEGV_ACCERR);
    on_alternative = is_on_alternative(&info) || is_on_alternative(__builtin_frame_address(0));
    calls++;
    mprotect(wall, page, PROT_READ | PROT_WRITE);
}

static void jumps(int number) {
    verify(number == SIGSEGV);
    calls++;
    siglongjmp(back, 1);
}

/* As runtimes do: a fault of their own is mended, and the program goes on. */
static void handlers(void) {
    struct sigaction action = {.sa_sigaction = opens, .sa_flags = SA_SIGINFO}, old;
    stack_t stack = {.ss_sp = alternative, .ss_size = sizeof alternative};
    wall = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    verify(sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    verify(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    site_writes(wall, 0);
    verify(calls == 1 && !on_alternative);
    action.sa_flags |= SA_ONSTACK;
    verify(sigaction(SIGSEGV, &action, &old) == 0 && old.sa_sigaction == opens && old.sa_flags == SA_SIGINFO);
    mprotect(wall, page, PROT_NONE);
    site_reads(wall, 0);
    verify(calls == 2 && on_alternative);
    verify((void *)signal(SIGSEGV, jumps) == (void *)opens);
    mprotect(wall, page, PROT_NONE);
    if (sigsetjmp(back, 1) == 0) site_writes(wall, 0);
    if (sigsetjmp(back, 1) == 0) raise(SIGSEGV);
    verify(calls == 4 && signal(SIGSEGV, SIG_IGN) == jumps);
    raise(SIGSEGV);
    verify(system("kill -SEGV $$") == 0); /* also after exec */
    action = (struct sigaction){.sa_handler = jumps, .sa_flags = (int)SA_RESETHAND};
    verify(sigaction(SIGSEGV, &action, &old) == 0 && old.sa_handler == SIG_IGN);
    if (sigsetjmp(back, 1) == 0) site_writes(wall, 0);
    verify(calls == 5 && sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    verify(sigaction(SIGSEGV, &action, NULL) == 0);
    pid_t child = vfork();
    if (child == 0) { /* it resets what it has, and not its parent's */
        signal(SIGSEGV, SIG_DFL);
        _exit(0);
    }
    verify(waitpid(child, NULL, 0) == child && sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == jumps);
}

/* A handler that the program installs later is called for a guarded object as well: exit status 9. */
static void ends(int number) {
    verify(number == SIGSEGV);
    _exit(9);
}

int main(int count, char **arguments) {
    const char *how = count > 2 ? arguments[2] : "";
    page = (size_t)sysconf(_SC_PAGESIZE);
    mistake = count > 1 ? arguments[1] : "correct";
    if (strcmp(how, "handled") == 0) signal(SIGSEGV, ends);
    if (strcmp(mistake, "correct") == 0) correct();
    else if (strcmp(mistake, "handlers") == 0) handlers();
    else if (strcmp(mistake, "samples") == 0) samples();
    else if (strcmp(mistake, "null") == 0) site_writes(NULL, 0);
    else if (strcmp(how, "thread") == 0) by_thread();
    else if (strcmp(how, "child") == 0) by_child();
    else make_it();
    return 0;
}
